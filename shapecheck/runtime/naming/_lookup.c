/* The steady state of mode.py, compiled: from an op and its arguments to the outcome that is kept.

   Only the arguments that most calls have are looked at here. Where there are others the answer is
   None, and mode.py makes the key in Python, where its parts are explained. Both make equal keys.

   What a tensor says of its shape may be Python code of others, which may change the table, a list
   of arguments or the keywords: whatever is taken from these is owned while it is used. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#define MOST 32 /* parts of a key: a longer one is made in Python */
#define DEEPEST 4 /* tuples in tuples, likewise */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *cache, *plain, *tensor, *parameter, *record, *placed, *getitem, *given, *other,
        *transforming;
} Lookup;

#define EACH(DO)                                                                                   \
    DO(cache) DO(plain) DO(tensor) DO(parameter) DO(record) DO(placed)                             \
    DO(getitem) DO(given) DO(other) DO(transforming)

typedef struct {
    PyObject *table;
    int alone;
    int named;
    Py_ssize_t count;
    PyObject *parts[MOST];
} Key;

static PyObject *shape_word, *sizes_word;

/* What adds to a key returns 1 if it did, 0 where Python has to, -1 with an error set. */

static int add(Key *key, PyObject *part /* stolen */) {
    if (part == NULL)
        return -1;
    if (key->count == MOST) {
        Py_DECREF(part);
        return 0;
    }
    key->parts[key->count++] = part;
    return 1;
}

static int is_plain(Lookup *self, PyObject *arg) {
    PyObject *kind = (PyObject *)Py_TYPE(arg);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->plain); i++)
        if (kind == PyTuple_GET_ITEM(self->plain, i))
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

/* Return the record of a tensor; NULL if the table has none, or with an error set. */
static PyObject *known(PyObject *table, PyObject *arg) {
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

static int add_shape(Key *key, PyObject *arg) {
    PyObject *shape = PyObject_GetAttr(arg, shape_word);
    if (shape == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        PyErr_Clear(); /* a nested tensor has no sizes */
        return 0;
    }
    return add(key, shape);
}

static int add_argument(Lookup *self, Key *key, PyObject *arg, int depth) {
    PyTypeObject *kind = Py_TYPE(arg);
    if (is_plain(self, arg))
        return add(key, Py_NewRef(arg));
    if (kind == &PyFloat_Type)
        return add(key, Py_NewRef((PyObject *)kind));
    if (kind == &PyBool_Type)
        return add(key, PyTuple_Pack(2, kind, arg));
    if (kind == &PyTuple_Type || kind == &PyList_Type) {
        if (depth == DEEPEST)
            return 0;
        Py_ssize_t count = Py_SIZE(arg);
        int done = add(key, Py_NewRef((PyObject *)kind));
        if (done == 1)
            done = add(key, PyLong_FromSsize_t(count));
        for (Py_ssize_t i = 0; done == 1 && i < Py_SIZE(arg); i++) {
            PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(arg, i));
            done = add_argument(self, key, item, depth + 1);
            Py_DECREF(item);
        }
        return done == 1 && Py_SIZE(arg) != count ? 0 : done;
    }
    PyObject *record = known(key->table, arg);
    if (record != NULL) {
        key->named = 1;
        return add(key, record);
    }
    if (PyErr_Occurred())
        return -1;
    if (key->alone && (PyObject *)kind == self->parameter)
        return add_shape(key, arg);
    if (key->alone && (PyObject *)kind == self->tensor) {
        PyObject *level = PyObject_CallNoArgs(self->transforming);
        int outside = level == Py_None;
        Py_XDECREF(level);
        return level == NULL ? -1 : outside ? add_shape(key, arg) : 0;
    }
    return 0;
}

static int add_item(Lookup *self, Key *key, PyObject *item) {
    if (is_plain(self, item))
        return add(key, Py_NewRef(item));
    if (!PySlice_Check(item))
        return 0;
    PySliceObject *bounds = (PySliceObject *)item;
    if (bounds->start == Py_None && bounds->stop == Py_None && bounds->step == Py_None)
        return add(key, Py_NewRef((PyObject *)&PySlice_Type));
    if (!is_plain(self, bounds->start) || !is_plain(self, bounds->stop) ||
        !is_plain(self, bounds->step))
        return 0;
    return add(key, PyTuple_Pack(3, bounds->start, bounds->stop, bounds->step));
}

static int add_indexing(Lookup *self, Key *key, PyObject *args) {
    if (PyTuple_GET_SIZE(args) != 2)
        return 0;
    int done = add_argument(self, key, PyTuple_GET_ITEM(args, 0), 0);
    PyObject *index = PyTuple_GET_ITEM(args, 1);
    if (!PyTuple_CheckExact(index))
        return done == 1 ? add_item(self, key, index) : done;
    for (Py_ssize_t i = 0; done == 1 && i < PyTuple_GET_SIZE(index); i++)
        done = add_item(self, key, PyTuple_GET_ITEM(index, i));
    return done;
}

static int add_call(
    Lookup *self, Key *key, int read, PyObject *func, PyObject *args, PyObject *kwargs) {
    int special = PySet_Contains(self->other, func);
    if (special == 0 && read)
        special = PySet_Contains(self->given, func);
    if (special)
        return special < 0 ? -1 : 0;
    int done = add(key, Py_NewRef(func));
    if (func == self->getitem)
        return kwargs == NULL && done == 1 ? add_indexing(self, key, args) : 0;
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

/* Return the record that is kept under a key, False if nothing in it has a name, or if that is kept,
   None otherwise. */
static PyObject *outcome(Lookup *self, Key *key) {
    if (!key->named)
        return Py_NewRef(Py_False);
    PyObject *whole = PyTuple_New(key->count);
    if (whole == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < key->count; i++)
        PyTuple_SET_ITEM(whole, i, Py_NewRef(key->parts[i]));
    PyObject *found = PyDict_GetItemWithError(self->cache, whole);
    PyObject *kind = found == NULL ? NULL : (PyObject *)Py_TYPE(found);
    if (kind != NULL && (kind == self->record || kind == self->placed || found == Py_False))
        Py_INCREF(found);
    else
        found = PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_DECREF(whole);
    return found;
}

static PyObject *call(PyObject *callable, PyObject *const *given, size_t flags, PyObject *words) {
    Lookup *self = (Lookup *)callable;
    if (PyVectorcall_NARGS(flags) != 6 || words != NULL || !PyDict_Check(given[0]) ||
        !PyTuple_Check(given[4]) || !(given[5] == Py_None || PyDict_Check(given[5]))) {
        PyErr_SetString(PyExc_TypeError, "expected (table, alone, read, func, args, kwargs)");
        return NULL;
    }
    Key key = {.table = given[0], .alone = given[1] == Py_True};
    PyObject *kwargs = given[5] == Py_None ? NULL : given[5];
    int done = add_call(self, &key, given[2] == Py_True, given[3], given[4], kwargs);
    PyObject *found = NULL;
    if (done >= 0)
        found = done ? outcome(self, &key) : Py_NewRef(Py_None);
    while (key.count)
        Py_DECREF(key.parts[--key.count]);
    return found;
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
            args, words, "O!O!OOOOOO!O!O:Lookup", names, &PyDict_Type, &given.cache, &PyTuple_Type,
            &given.plain, &given.tensor, &given.parameter, &given.record, &given.placed,
            &given.getitem,
            &PyFrozenSet_Type, &given.given, &PyFrozenSet_Type, &given.other, &given.transforming))
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
    PyObject *id = PyLong_FromVoidPtr(given[1]);
    PyObject *reference = id == NULL ? NULL : PyWeakref_NewRef(given[1], NULL);
    PyObject *pair = reference == NULL ? NULL : PyTuple_Pack(2, reference, given[2]);
    int failed = pair == NULL || PyDict_SetItem(given[0], id, pair) < 0;
    Py_XDECREF(pair);
    Py_XDECREF(reference);
    Py_XDECREF(id);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* Whether a tensor still has the sizes of its record; -1 with an error set. */
static int is_current(PyObject *tensor, PyObject *record) {
    PyObject *shape = PyObject_GetAttr(tensor, shape_word);
    PyObject *sizes = shape == NULL ? NULL : PyObject_GetAttr(record, sizes_word);
    int same = sizes == NULL ? -1 : PyObject_RichCompareBool(shape, sizes, Py_EQ);
    Py_XDECREF(sizes);
    Py_XDECREF(shape);
    return same;
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
        PyObject *record = known(given[1], given[i]);
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

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "shapecheck.runtime.naming._lookup",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__lookup(void) {
    shape_word = PyUnicode_InternFromString("shape");
    sizes_word = PyUnicode_InternFromString("sizes");
    if (shape_word == NULL || sizes_word == NULL || PyType_Ready(&LookupType) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddObjectRef(module, "Lookup", (PyObject *)&LookupType) < 0)
        Py_CLEAR(module);
    return module;
}
