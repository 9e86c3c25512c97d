"""stub"""
Target = object
Left = str
def targets(a,b): return []
def judged(a,b): return "",[]
