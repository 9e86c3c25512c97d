/* What the two halves of the compiled steady state share: the keys of ops, and the sizes that the
   user's code has read. mode.py and int_origins.py say in Python what each part means. */

#ifndef SHAPECHECK_STEADY_H
#define SHAPECHECK_STEADY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

#ifdef Py_GIL_DISABLED
#error "Only the GIL keeps threads apart in here: Python does the work where there is none."
#endif

/* 1 if a question is answered, 0 where Python has to look, -1 with an error set. */
typedef int Answer;

/* The words by which attributes are read. */
#define WORDS(DO)                                                                                  \
    DO(alone) DO(calls) DO(code) DO(dtype) DO(frame) DO(given) DO(most) DO(noted) DO(params)       \
    DO(place) DO(places) DO(plan) DO(read) DO(readings) DO(reads) DO(record) DO(returned)          \
    DO(returning) DO(shape) DO(sizes) DO(table)

#define DECLARE(word) extern PyObject *word_##word;
WORDS(DECLARE)
#undef DECLARE

/* Return the record of a tensor; NULL if the table has none, or with an error set. */
PyObject *record_of(PyObject *table, PyObject *tensor);

/* Note that the caller of the mode reads a shape; `known` is NULL where nothing is known of it. */
Answer note_reading(PyObject *readings, PyObject *known);

/* Say what decides which sizes the caller of the mode passes to an op, None if nothing does.
   `always`: it may say how numbers are written. `constant` is the class of constants in syntax. */
Answer passed_here(
    PyObject *readings, PyObject *frame, int always, PyObject *constant, PyObject **passed);

#endif
