/* The steady state of mode.py, compiled: from an op and its arguments to the outcome that is kept.

   A `Lookup` does what the Python function that calls it does, where the outcome is known and what
   is looked at are arguments that most calls have. All else it leaves to the function, where the
   parts of a key are explained; both make equal keys.

   What a tensor says of its shape may be Python code of others, which may change the table, a list
   of arguments or the keywords: whatever is taken from these is owned while it is used. */

#include "_steady.h"
#include <stddef.h>

#define MOST 48 /* parts of a key: a longer one is made in Python */
#define DEEPEST 4 /* tuples in tuples, likewise */

#define EACH(DO)                                                                                   \
    DO(cache) DO(plain) DO(opaque) DO(tensor) DO(parameter) DO(shape) DO(record) DO(placed)        \
    DO(likely) DO(constant) DO(getitem) DO(kinds) DO(transforming) DO(levels) DO(lasting)          \
    DO(name) DO(hand_down) DO(retell) DO(fault)

#define FIELD(name) PyObject *name;
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    EACH(FIELD)
} Lookup;
#undef FIELD

/* What an op is, beside its name, as `_KINDS` of lookup.py counts it. */
enum { READS = 1, GIVEN = 2, NUMBERED = 4, OTHER = 8 };

typedef struct {
    PyObject *table;
    int alone;
    int named;
    Py_ssize_t count;
    PyObject *parts[MOST];
} Key;

#define DEFINE(word) PyObject *word_##word;
WORDS(DEFINE)
#undef DEFINE

static Answer add(Key *key, PyObject *part /* stolen */) {
    if (part == NULL)
        return -1;
    if (key->count == MOST) {
        Py_DECREF(part);
        return 0;
    }
    key->parts[key->count++] = part;
    return 1;
}

static int is_one_of(PyObject *kinds, PyObject *arg) {
    PyObject *kind = (PyObject *)Py_TYPE(arg);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kinds); i++)
        if (kind == PyTuple_GET_ITEM(kinds, i))
            return 1;
    return 0;
}

static int refers_to(PyObject *reference, PyObject *tensor) {
    if (!PyWeakref_Check(reference))
        return 0;
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found;
    if (PyWeakref_GetRef(reference, &found) < 1)
        return 0;
    int same = found == tensor;
    Py_DECREF(found);
    return same;
#else
    return PyWeakref_GET_OBJECT(reference) == tensor;
#endif
}

PyObject *record_of(PyObject *table, PyObject *arg) {
    PyObject *id = PyLong_FromVoidPtr(arg);
    if (id == NULL)
        return NULL;
    PyObject *pair = Py_XNewRef(PyDict_GetItemWithError(table, id));
    Py_DECREF(id);
    if (pair == NULL)
        return NULL;
    int same = PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 &&
               refers_to(PyTuple_GET_ITEM(pair, 0), arg);
    PyObject *record = same ? Py_NewRef(PyTuple_GET_ITEM(pair, 1)) : NULL;
    Py_DECREF(pair);
    return record;
}

static Answer add_shape(Key *key, PyObject *arg) {
    PyObject *shape = PyObject_GetAttr(arg, word_shape);
    if (shape == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        PyErr_Clear(); /* a nested tensor has no sizes */
        return 0;
    }
    return add(key, shape);
}

/* Whether a tensor has names from another call, which it outlived. */
static Answer is_lasting(Lookup *self, PyObject *arg) {
    if (!PyDict_GET_SIZE(self->lasting))
        return 0;
    PyObject *id = PyLong_FromVoidPtr(arg);
    Answer found = id == NULL ? -1 : PyDict_Contains(self->lasting, id);
    Py_XDECREF(id);
    return found;
}

/* Whether a tensor without a record is one of which nothing is known: none is underneath of it. */
static Answer is_outside(Lookup *self, PyObject *arg) {
    Answer lasting = is_lasting(self, arg);
    if (lasting != 0)
        return lasting < 0 ? -1 : 0;
    PyObject *kind = (PyObject *)Py_TYPE(arg);
    if (kind == self->parameter)
        return 1;
    if (kind != self->tensor)
        return 0;
    PyObject *level = PyObject_CallNoArgs(self->transforming);
    Answer outside = level == NULL ? -1 : level == Py_None;
    Py_XDECREF(level);
    return outside;
}

static Answer add_argument(Lookup *self, Key *key, PyObject *arg, int depth) {
    PyTypeObject *kind = Py_TYPE(arg);
    if (is_one_of(self->plain, arg))
        return add(key, Py_NewRef(arg));
    if (kind == &PyFloat_Type || is_one_of(self->opaque, arg))
        return add(key, Py_NewRef((PyObject *)kind));
    if (kind == &PyBool_Type)
        return add(key, PyTuple_Pack(2, kind, arg));
    if (kind == &PyTuple_Type || kind == &PyList_Type || (PyObject *)kind == self->shape) {
        if (depth == DEEPEST)
            return 0;
        Py_ssize_t count = Py_SIZE(arg);
        Answer done = add(key, Py_NewRef((PyObject *)kind));
        if (done == 1)
            done = add(key, PyLong_FromSsize_t(count));
        for (Py_ssize_t i = 0; done == 1 && i < Py_SIZE(arg); i++) {
            PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(arg, i));
            done = add_argument(self, key, item, depth + 1);
            Py_DECREF(item);
        }
        return done == 1 && Py_SIZE(arg) != count ? 0 : done;
    }
    PyObject *record = record_of(key->table, arg);
    if (record != NULL) {
        key->named = 1;
        return add(key, record);
    }
    if (PyErr_Occurred())
        return -1;
    Answer outside = key->alone ? is_outside(self, arg) : 0;
    return outside == 1 ? add_shape(key, arg) : outside;
}

static Answer add_item(Lookup *self, Key *key, PyObject *item) {
    if (PySlice_Check(item)) {
        PySliceObject *bounds = (PySliceObject *)item;
        if (bounds->start == Py_None && bounds->stop == Py_None && bounds->step == Py_None)
            return add(key, Py_NewRef((PyObject *)&PySlice_Type));
        if (!is_one_of(self->plain, bounds->start) || !is_one_of(self->plain, bounds->stop) ||
            !is_one_of(self->plain, bounds->step))
            return 0;
        return add(key, PyTuple_Pack(3, bounds->start, bounds->stop, bounds->step));
    }
    Answer done = add_argument(self, key, item, 0);
    if (done != 1 || !PyObject_TypeCheck(item, (PyTypeObject *)self->tensor))
        return done;
    return key->alone ? add(key, PyObject_GetAttr(item, word_dtype)) : 0;
}

static Answer add_indexing(Lookup *self, Key *key, PyObject *args) {
    if (PyTuple_GET_SIZE(args) != 2)
        return 0;
    Answer done = add_argument(self, key, PyTuple_GET_ITEM(args, 0), 0);
    PyObject *index = PyTuple_GET_ITEM(args, 1);
    if (!PyTuple_CheckExact(index))
        return done == 1 ? add_item(self, key, index) : done;
    for (Py_ssize_t i = 0; done == 1 && i < PyTuple_GET_SIZE(index); i++)
        done = add_item(self, key, PyTuple_GET_ITEM(index, i));
    return done;
}

static Answer
add_call(Lookup *self, Key *key, PyObject *func, PyObject *args, PyObject *kwargs) {
    if (func == self->getitem)
        return kwargs == NULL ? add_indexing(self, key, args) : 0;
    Answer done = 1;
    for (Py_ssize_t i = 0; done == 1 && i < PyTuple_GET_SIZE(args); i++)
        done = add_argument(self, key, PyTuple_GET_ITEM(args, i), 0);
    PyObject *word, *arg;
    for (Py_ssize_t at = 0; done == 1 && kwargs != NULL && PyDict_Next(kwargs, &at, &word, &arg);) {
        Py_INCREF(arg);
        done = add(key, Py_NewRef(word));
        if (done == 1 && PyBool_Check(arg))
            done = add(key, Py_NewRef(arg));
        else if (done == 1)
            done = add_argument(self, key, arg, 0);
        Py_DECREF(arg);
    }
    return done;
}

static int is_bound(PyObject *item) {
    return PySlice_Check(item) && (PyLong_CheckExact(((PySliceObject *)item)->start) ||
                                   PyLong_CheckExact(((PySliceObject *)item)->stop) ||
                                   PyLong_CheckExact(((PySliceObject *)item)->step));
}

/* Whether numbers decide how much an index leaves of an axis. */
static int has_bounds(PyObject *index) {
    if (!PyTuple_Check(index))
        return is_bound(index);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++)
        if (is_bound(PyTuple_GET_ITEM(index, i)))
            return 1;
    return 0;
}

/* Find what is kept under a key. */
static Answer find(Lookup *self, PyObject **parts, Py_ssize_t count, PyObject **outcome) {
    PyObject *whole = PyTuple_New(count);
    if (whole == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(whole, i, Py_NewRef(parts[i]));
    PyObject *found = PyDict_GetItemWithError(self->cache, whole);
    Py_XINCREF(found);
    Py_DECREF(whole);
    *outcome = found;
    return found != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* An op of a call: the mode that sees it and the frame of the decorated call. */
typedef struct {
    PyObject *mode, *frame, *table, *func, *args, *kwargs;
    int alone, read;
    long kind;
} Op;

static Answer passed_to(Lookup *self, Op *op, PyObject **passed) {
    if (PyFunction_Check(op->func))
        return 0; /* torch's own code calls what it is passed to */
    PyObject *readings = PyObject_GetAttr(op->mode, word_readings);
    if (readings == NULL)
        return -1;
    int numbered = (op->kind & NUMBERED) != 0;
    Answer done = passed_here(readings, op->frame, numbered, self->constant, passed);
    Py_DECREF(readings);
    return done;
}

/* Add the function, and what is known of the sizes that it is passed. */
static Answer add_function(Lookup *self, Key *key, Op *op) {
    Answer done = add(key, Py_NewRef(op->func));
    if (done != 1 || !op->read || !(op->kind & GIVEN))
        return done;
    PyObject *passed = NULL;
    done = passed_to(self, op, &passed);
    if (done == 1 && passed != Py_None) {
        key->named = 1;
        done = add(key, Py_NewRef(passed));
    }
    Py_XDECREF(passed);
    return done;
}

/* Find what an index without names gives, where something is known of the numbers in it. */
static Answer find_by_bounds(Lookup *self, Op *op, Key *key, PyObject **outcome) {
    PyObject *parts[MOST + 1] = {key->parts[0]}, *passed = NULL;
    Answer done = passed_to(self, op, &passed);
    int tells = done == 1 && passed != Py_None && PyTuple_GET_ITEM(passed, 3) != Py_None;
    for (Py_ssize_t i = 4; done == 1 && passed != Py_None && i < PyTuple_GET_SIZE(passed); i++)
        tells |= PyTuple_GET_ITEM(passed, i) != Py_None;
    if (tells) {
        parts[1] = passed;
        for (Py_ssize_t i = 1; i < key->count; i++)
            parts[i + 1] = key->parts[i];
        done = find(self, parts, key->count + 1, outcome);
    } else if (done == 1)
        *outcome = Py_NewRef(Py_False);
    Py_XDECREF(passed);
    return done;
}

/* Find what an op's outcome is: False where nothing in it has a name. */
static Answer outcome_of(Lookup *self, Op *op, PyObject **outcome) {
    Key key = {.table = op->table, .alone = op->alone};
    *outcome = NULL;
    Answer done = op->kind & OTHER ? 0 : add_function(self, &key, op);
    if (done == 1)
        done = add_call(self, &key, op->func, op->args, op->kwargs);
    if (done == 1 && key.named)
        done = find(self, key.parts, key.count, outcome);
    else if (done == 1 && op->func == self->getitem && op->read &&
             has_bounds(PyTuple_GET_ITEM(op->args, 1)))
        done = find_by_bounds(self, op, &key, outcome);
    else if (done == 1)
        *outcome = Py_NewRef(Py_False);
    while (key.count)
        Py_DECREF(key.parts[--key.count]);
    if (done == 1 && (PyObject *)Py_TYPE(*outcome) == self->placed) {
        PyObject *parts[2] = {*outcome, NULL};
        *outcome = NULL;
        done = passed_to(self, op, &parts[1]);
        if (done == 1)
            done = find(self, parts, 2, outcome);
        Py_XDECREF(parts[1]);
        Py_DECREF(parts[0]);
    }
    return done;
}

/* Whether an outcome is one that is dealt with here: a record, certain or not, several, or none. */
static int is_served(Lookup *self, PyObject *outcome) {
    PyObject *kind = (PyObject *)Py_TYPE(outcome);
    if (outcome == Py_False || outcome == Py_None)
        return 1;
    if (!PyTuple_CheckExact(outcome))
        return kind == self->record || kind == self->likely;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outcome); i++) {
        PyObject *part = PyTuple_GET_ITEM(outcome, i);
        if (part != Py_None && (PyObject *)Py_TYPE(part) != self->record)
            return 0;
    }
    return 1;
}

static Answer note(Lookup *self, Op *op) {
    if (PyFunction_Check(op->func) || PyTuple_GET_SIZE(op->args) == 0)
        return 0;
    PyObject *tensor = PyTuple_GET_ITEM(op->args, 0);
    PyObject *known = record_of(op->table, tensor);
    Answer done = known != NULL ? 1 : PyErr_Occurred() ? -1 : is_outside(self, tensor);
    if (done == 1 && PyObject_SetAttr(op->frame, word_read, Py_True) < 0)
        done = -1;
    PyObject *readings = done == 1 ? PyObject_GetAttr(op->mode, word_readings) : NULL;
    if (done == 1)
        done = readings == NULL ? -1 : note_reading(readings, known);
    Py_XDECREF(readings);
    Py_XDECREF(known);
    return done;
}

static Answer keep_record(PyObject *table, PyObject *tensor, PyObject *record) {
    PyObject *id = PyLong_FromVoidPtr(tensor);
    PyObject *reference = id == NULL ? NULL : PyWeakref_NewRef(tensor, NULL);
    PyObject *pair = reference == NULL ? NULL : PyTuple_Pack(2, reference, record);
    Answer done = pair == NULL || PyDict_SetItem(table, id, pair) < 0 ? -1 : 1;
    Py_XDECREF(pair);
    Py_XDECREF(reference);
    Py_XDECREF(id);
    return done;
}

/* Whether a tensor still has the sizes of its record; -1 with an error set. */
static Answer is_current(PyObject *tensor, PyObject *record) {
    PyObject *shape = PyObject_GetAttr(tensor, word_shape);
    PyObject *sizes = shape == NULL ? NULL : PyObject_GetAttr(record, word_sizes);
    Answer same = sizes == NULL ? -1 : PyObject_RichCompareBool(shape, sizes, Py_EQ);
    Py_XDECREF(sizes);
    Py_XDECREF(shape);
    return same;
}

static Answer keep_if_current(PyObject *table, PyObject *tensor, PyObject *record) {
    Answer current = is_current(tensor, record);
    if (current < 0 && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        PyErr_Clear(); /* a nested tensor has no sizes */
        return 1;
    }
    return current == 1 ? keep_record(table, tensor, record) : current < 0 ? -1 : 1;
}

/* Give a tensor, or those of a tuple, their names, where their sizes are the same again. */
static Answer keep_again(Lookup *self, Op *op, PyObject *result, PyObject *outcome) {
    int several = PyTuple_CheckExact(outcome), plain = op->alone;
    Py_ssize_t count = several ? PyTuple_GET_SIZE(outcome) : 1;
    plain = plain && (!several || (PyTuple_Check(result) && PyTuple_GET_SIZE(result) == count));
    for (Py_ssize_t i = 0; plain && i < count; i++) {
        PyObject *item = several ? PyTuple_GET_ITEM(result, i) : result;
        plain = (PyObject *)Py_TYPE(item) == self->tensor;
    }
    if (!plain) {
        PyObject *parts[] = {op->frame, outcome, result};
        PyObject *done = PyObject_Vectorcall(self->name, parts, 3, NULL);
        Py_XDECREF(done);
        return done == NULL ? -1 : 1;
    }
    if (!several) {
        PyObject *record = PyObject_GetAttr(outcome, word_record);
        Answer done = record == NULL ? -1 : keep_if_current(op->table, result, record);
        Py_XDECREF(record);
        return done;
    }
    Answer done = 1;
    for (Py_ssize_t i = 0; done == 1 && i < count; i++) {
        PyObject *record = PyTuple_GET_ITEM(outcome, i);
        if (record != Py_None)
            done = keep_if_current(op->table, PyTuple_GET_ITEM(result, i), record);
    }
    return done;
}

static PyObject *raised(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    PyErr_NormalizeException(&kind, &error, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(error, traceback);
    Py_XDECREF(kind);
    Py_XDECREF(traceback);
    return error;
#endif
}

static void raise_again(PyObject *error /* stolen */) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* Have Python say why an op failed, by the names; what it raises goes on, or the op's own error. */
static void tell(Lookup *self, Op *op) {
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return;
    PyObject *error = raised(), *words = op->kwargs ? Py_NewRef(op->kwargs) : PyDict_New();
    PyObject *parts[] = {error, op->frame, op->func, op->args, words};
    PyObject *done = words ? PyObject_Vectorcall(self->retell, parts, 5, NULL) : NULL;
    Py_XDECREF(words);
    if (done != NULL)
        raise_again(error);
    else
        Py_DECREF(error);
    Py_XDECREF(done);
}

/* Report a defect of ours, an error that is set; the op goes on. */
static void report(Lookup *self, Op *op) {
    PyObject *error = raised();
    PyObject *done = PyObject_CallFunctionObjArgs(self->fault, op->func, error, NULL);
    Py_XDECREF(done);
    Py_DECREF(error);
    if (done == NULL)
        PyErr_Clear();
}

/* Run an op, and give what it returns the names that it had before. */
static PyObject *run(Lookup *self, Op *op, PyObject *outcome) {
    PyObject *result = PyObject_Call(op->func, op->args, op->kwargs);
    if (outcome == Py_False)
        return result;
    if (result == NULL) {
        tell(self, op);
        return NULL;
    }
    Answer done = 1;
    if (outcome == NULL || outcome == Py_None)
        ;
    else if ((PyObject *)Py_TYPE(outcome) == self->record)
        done = keep_record(op->table, result, outcome);
    else
        done = keep_again(self, op, result, outcome);
    if (done < 0)
        report(self, op);
    if (PySet_GET_SIZE(self->levels)) {
        PyObject *words = op->kwargs == NULL ? Py_None : op->kwargs;
        PyObject *parts[] = {result, op->args, words, op->table};
        PyObject *handed = PyObject_Vectorcall(self->hand_down, parts, 4, NULL);
        Py_XDECREF(handed);
        if (handed == NULL)
            Py_CLEAR(result);
    }
    return result;
}

/* Run an op by what is known of it; 0 where it is left to Python. Nothing was run then. */
static Answer serve(Lookup *self, Op *op, PyObject **result) {
    PyObject *kind = PyDict_GetItemWithError(self->kinds, op->func), *outcome = NULL;
    op->kind = kind == NULL ? 0 : PyLong_AsLong(kind);
    if (PyErr_Occurred())
        return -1;
    Answer done = op->kind & READS ? note(self, op) : outcome_of(self, op, &outcome);
    if (done == 1 && outcome != NULL && !is_served(self, outcome))
        done = 0;
    if (done == 1)
        *result = run(self, op, outcome);
    Py_XDECREF(outcome);
    return done;
}

static int is_true(PyObject *frame, PyObject *word) {
    PyObject *found = PyObject_GetAttr(frame, word);
    Py_XDECREF(found);
    return found == NULL ? -1 : found == Py_True;
}

/* lookup(mode, frame, func, args, kwargs): what the op gives, or the lookup where it wasn't run. */
static PyObject *call(PyObject *callable, PyObject *const *given, size_t flags, PyObject *words) {
    Lookup *self = (Lookup *)callable;
    if (PyVectorcall_NARGS(flags) != 5 || words != NULL || !PyTuple_Check(given[3]) ||
        !(given[4] == Py_None || PyDict_Check(given[4]))) {
        PyErr_SetString(PyExc_TypeError, "expected (mode, frame, func, args, kwargs)");
        return NULL;
    }
    Op op = {.mode = given[0], .frame = given[1], .func = given[2], .args = given[3]};
    op.kwargs = given[4] != Py_None && PyDict_GET_SIZE(given[4]) ? given[4] : NULL;
    int is_frame = (op.table = PyObject_GetAttr(op.frame, word_table)) != NULL &&
                   (op.alone = is_true(op.frame, word_alone)) >= 0 &&
                   (op.read = is_true(op.frame, word_read)) >= 0;
    PyObject *result = NULL;
    Answer done = is_frame ? serve(self, &op, &result) : -1;
    Py_XDECREF(op.table);
    if (done < 0)
        PyErr_Clear(); /* Python meets it again, and tells it */
    return done == 1 ? result : Py_NewRef(callable);
}

static int visit(PyObject *object, visitproc visit, void *arg) {
    Lookup *self = (Lookup *)object;
#define VISIT(name) Py_VISIT(self->name);
    EACH(VISIT)
    return 0;
}

static int clear(PyObject *object) {
    Lookup *self = (Lookup *)object;
#define CLEAR(name) Py_CLEAR(self->name);
    EACH(CLEAR)
    return 0;
}

static void dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *words) {
#define WORD(name) #name,
    static char *names[] = {EACH(WORD) NULL};
    Lookup given;
    if (!PyArg_ParseTupleAndKeywords(
            args, words, "$O!O!O!OOOOOOOOO!OO!O!OOOO:Lookup", names, &PyDict_Type, &given.cache,
            &PyTuple_Type, &given.plain, &PyTuple_Type, &given.opaque, &given.tensor,
            &given.parameter, &given.shape, &given.record, &given.placed, &given.likely,
            &given.constant, &given.getitem, &PyDict_Type, &given.kinds, &given.transforming,
            &PySet_Type, &given.levels, &PyDict_Type, &given.lasting, &given.name, &given.hand_down,
            &given.retell, &given.fault))
        return NULL;
    Lookup *self = (Lookup *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
#define KEEP(name) self->name = Py_NewRef(given.name);
    EACH(KEEP)
    self->call = call;
    return (PyObject *)self;
}

static PyTypeObject LookupType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "shapecheck.runtime.naming._lookup.Lookup",
    .tp_basicsize = sizeof(Lookup),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = make,
    .tp_dealloc = dealloc,
    .tp_traverse = visit,
    .tp_clear = clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Lookup, call),
};

/* keep(table, tensor, record): what mode.py writes as `table[id(tensor)] = ref(tensor), record` */
static PyObject *keep(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (count != 3 || !PyDict_Check(given[0])) {
        PyErr_SetString(PyExc_TypeError, "expected (table, tensor, record)");
        return NULL;
    }
    if (keep_record(given[0], given[1], given[2]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* kept(cache, table, checked, head, rest, *tensors): what is kept for tensors that have names */
static PyObject *kept(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count) {
    if (count < 5 || !PyDict_Check(given[0]) || !PyDict_Check(given[1])) {
        PyErr_SetString(PyExc_TypeError, "expected (cache, table, checked, head, rest, *tensors)");
        return NULL;
    }
    PyObject *key = PyTuple_New(count - 3);
    if (key == NULL)
        return NULL;
    PyObject_GC_UnTrack(key); /* nobody is to find it while parts of it are missing */
    PyTuple_SET_ITEM(key, 0, Py_NewRef(given[3]));
    PyTuple_SET_ITEM(key, 1, Py_NewRef(given[4]));
    int usable = 1;
    for (Py_ssize_t i = 5; i < count && usable == 1; i++) {
        PyObject *record = record_of(given[1], given[i]);
        usable = record != NULL && (given[2] != Py_True || is_current(given[i], record) == 1);
        PyTuple_SET_ITEM(key, i - 3, record);
    }
    PyObject *found = usable ? PyDict_GetItemWithError(given[0], key) : NULL;
    if (found == NULL)
        found = PyErr_Occurred() ? NULL : Py_None;
    Py_XINCREF(found);
    Py_DECREF(key);
    return found;
}

static PyMethodDef methods[] = {
    {"kept", (PyCFunction)(void (*)(void))kept, METH_FASTCALL, NULL},
    {"keep", (PyCFunction)(void (*)(void))keep, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module) {
#define INTERN(word)                                                                               \
    if ((word_##word = PyUnicode_InternFromString(#word)) == NULL)                                 \
        return -1;
    WORDS(INTERN)
    if (PyType_Ready(&LookupType) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Lookup", (PyObject *)&LookupType);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "shapecheck.runtime.naming._lookup",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__lookup(void) { return PyModuleDef_Init(&definition); }
