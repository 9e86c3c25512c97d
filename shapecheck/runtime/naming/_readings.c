/* The steady state of `Readings` in int_origins.py, compiled: each function here does what the
   method of its name does there, as long as every place in the code was met before. */

#include "_steady.h"

#define MOST_CALLERS 4
#define MOST_WRAPPERS 16
#define MOST_PARTS 64 /* of what is passed: more are put together in Python */

/* A frame, with its code and where it stands. */
typedef struct {
    PyFrameObject *frame;
    PyObject *code;
    PyObject *offset;
} At;

static void leave(At *at) {
    Py_CLEAR(at->frame);
    Py_CLEAR(at->code);
    Py_CLEAR(at->offset);
}

/* Takes over the reference to the frame, which may be NULL: then it answers 0. */
static Answer stand(At *at, PyFrameObject *frame) {
    at->frame = frame;
    at->code = at->offset = NULL;
    if (frame == NULL)
        return 0;
    at->code = (PyObject *)PyFrame_GetCode(frame);
#if PY_VERSION_HEX >= 0x030B0000
    at->offset = PyLong_FromLong(PyFrame_GetLasti(frame));
#else
    at->offset = PyObject_GetAttrString((PyObject *)frame, "f_lasti");
#endif
    if (at->offset == NULL) {
        leave(at);
        return -1;
    }
    return 1;
}

/* Stand where the op is called: the frame that runs is that of the mode. */
static Answer stand_here(At *at) {
    PyFrameObject *running = PyThreadState_GetFrame(PyThreadState_Get());
    Answer done = stand(at, running == NULL ? NULL : PyFrame_GetBack(running));
    Py_XDECREF(running);
    if (done == 1) {
        PyObject *name = ((PyCodeObject *)at->code)->co_name;
        if (PyUnicode_CompareWithASCIIString(name, "__torch_function__") == 0) {
            leave(at); /* another mode stands before the user's frame */
            return 0;
        }
    }
    return done;
}

static PyObject *number_of(void *object) { return PyLong_FromVoidPtr(object); }

/* Return what a table has under a place in the code and up to one part more. */
static PyObject *found_at(PyObject *table, PyObject *code, PyObject *offset, PyObject *more) {
    PyObject *number = number_of(code);
    if (number == NULL)
        return NULL;
    PyObject *key = more == NULL ? PyTuple_Pack(2, number, offset)
                                 : PyTuple_Pack(3, number, offset, more);
    PyObject *found = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(table, key));
    Py_XDECREF(key);
    Py_DECREF(number);
    return found;
}

/* Keep a tuple under a place in the code; 0 where the table is full. */
static Answer keep_at(PyObject *table, At *at, PyObject *kept /* stolen */) {
    if (kept == NULL)
        return -1;
    PyObject *most = PyObject_GetAttr(table, word_most);
    Answer done = -1;
    if (most != NULL && PyDict_GET_SIZE(table) >= PyLong_AsSsize_t(most))
        done = PyErr_Occurred() ? -1 : 0;
    else if (most != NULL) {
        PyObject *number = number_of(at->code);
        PyObject *key = number == NULL ? NULL : PyTuple_Pack(2, number, at->offset);
        done = key == NULL || PyDict_SetItem(table, key, kept) < 0 ? -1 : 1;
        Py_XDECREF(key);
        Py_XDECREF(number);
    }
    Py_XDECREF(most);
    Py_DECREF(kept);
    return done;
}

/* Forget what a table has under a place in the code, if it has anything. */
static Answer forget_at(PyObject *table, At *at) {
    PyObject *number = number_of(at->code);
    PyObject *key = number == NULL ? NULL : PyTuple_Pack(2, number, at->offset);
    Answer done = key == NULL ? -1 : PyDict_Contains(table, key);
    if (done == 1)
        done = PyDict_DelItem(table, key);
    Py_XDECREF(key);
    Py_XDECREF(number);
    return done < 0 ? -1 : 1;
}

static int is_number(PyObject *kept, void *object) {
    return PyLong_AsVoidPtr(kept) == object;
}

/* Say what a call gave to the function that it led to: a Handed, True or False. */
static Answer handed(PyObject *calls, At *caller, PyObject *inner, PyObject **found) {
    *found = NULL;
    PyObject *number = number_of(inner);
    if (number == NULL)
        return -1;
    PyObject *kept = found_at(calls, caller->code, caller->offset, number);
    Py_DECREF(number);
    if (kept == NULL)
        return PyErr_Occurred() ? -1 : 0;
    *found = Py_NewRef(PyTuple_GET_ITEM(kept, 2));
    Py_DECREF(kept);
    return 1;
}

/* Find the frame that called a function, wrappers apart, and what it gave: NULL for none. */
static Answer called_at(PyObject *readings, At *callee, At *caller, PyObject **gave) {
    *gave = NULL;
    PyObject *calls = PyObject_GetAttr(readings, word_calls), *found = NULL;
    if (calls == NULL)
        return -1;
    Answer done = stand(caller, PyFrame_GetBack(callee->frame));
    for (int wrappers = 0; done == 1; wrappers++) {
        done = handed(calls, caller, callee->code, &found);
        if (done != 1 || found != Py_True || wrappers == MOST_WRAPPERS)
            break;
        Py_CLEAR(found);
        PyFrameObject *back = PyFrame_GetBack(caller->frame);
        leave(caller);
        done = stand(caller, back);
    }
    int outside = done == 0 && caller->frame == NULL; /* no frame is left: nobody called it */
    if (outside || (done == 1 && found == Py_True)) {
        leave(caller);
        done = 1;
    } else if (done == 1)
        *gave = Py_NewRef(found);
    else
        leave(caller);
    Py_XDECREF(found);
    Py_DECREF(calls);
    return done;
}

static PyObject *tuple_of(PyObject **parts, int count) {
    PyObject *made = PyTuple_New(count);
    for (int i = 0; made != NULL && i < count; i++)
        PyTuple_SET_ITEM(made, i, Py_NewRef(parts[i]));
    return made;
}

static void drop(PyObject **parts, int count) {
    for (int i = 0; i < count; i++)
        Py_DECREF(parts[i]);
}

/* Say what a function returned: a `Returning`, and the record of each reading in it. */
static Answer returned_sizes(PyObject *kept, PyObject **made) {
    PyObject *found = PyTuple_GET_ITEM(kept, 2), *read = PyTuple_GET_ITEM(kept, 4);
    PyObject *place = PyObject_GetAttr(found, word_place), *parts[MOST_PARTS];
    PyObject *reads = place == NULL ? NULL : PyObject_GetAttr(place, word_reads);
    Answer done = reads == NULL ? -1 : PyTuple_GET_SIZE(reads) < MOST_PARTS;
    int count = 0;
    if (done == 1)
        parts[count++] = Py_NewRef(found);
    for (Py_ssize_t i = 0; done == 1 && i < PyTuple_GET_SIZE(reads); i++) {
        PyObject *offsets = PyTuple_GET_ITEM(reads, i), *part = NULL;
        for (Py_ssize_t j = 0; done == 1 && !part && j < PyTuple_GET_SIZE(offsets); j++) {
            part = Py_XNewRef(PyDict_GetItemWithError(read, PyTuple_GET_ITEM(offsets, j)));
            done = PyErr_Occurred() ? -1 : 1;
        }
        parts[count++] = part == NULL ? Py_NewRef(Py_None) : part;
    }
    if (done == 1 && (*made = tuple_of(parts, count)) == NULL)
        done = -1;
    drop(parts, count);
    Py_XDECREF(reads);
    Py_XDECREF(place);
    return done;
}

/* Find what is kept of one of some places in the code, by the frame that runs there. */
static Answer kept_of(PyObject *table, At *at, PyObject *offsets, PyObject **kept) {
    *kept = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(offsets); i++) {
        PyObject *found = found_at(table, at->code, PyTuple_GET_ITEM(offsets, i), NULL);
        if (found == NULL && PyErr_Occurred())
            return -1;
        if (found != NULL && is_number(PyTuple_GET_ITEM(found, 1), at->frame)) {
            *kept = found;
            return 1;
        }
        Py_XDECREF(found);
    }
    return 1;
}

/* Add to `parts` what each reading was of that sizes are made of, and what calls returned. */
static Answer
add_records(PyObject *readings, PyObject *place, At *at, PyObject **parts, int *count) {
    PyObject *words[2] = {word_reads, word_calls}, *tables[2] = {word_noted, word_returned};
    Answer done = 1;
    for (int calls = 0; calls < 2 && done == 1; calls++) {
        PyObject *all = PyObject_GetAttr(place, words[calls]);
        PyObject *table = all == NULL ? NULL : PyObject_GetAttr(readings, tables[calls]);
        if (table == NULL)
            done = -1;
        for (Py_ssize_t i = 0; done == 1 && i < PyTuple_GET_SIZE(all); i++) {
            PyObject *kept = NULL, *part = NULL;
            done = *count == MOST_PARTS ? 0 : kept_of(table, at, PyTuple_GET_ITEM(all, i), &kept);
            if (done == 1 && kept != NULL && calls)
                done = returned_sizes(kept, &part);
            else if (done == 1)
                part = Py_NewRef(kept == NULL ? Py_None : PyTuple_GET_ITEM(kept, 2));
            Py_XDECREF(kept);
            if (done == 1)
                parts[(*count)++] = part == NULL ? Py_NewRef(Py_None) : part;
        }
        Py_XDECREF(table);
        Py_XDECREF(all);
    }
    return done;
}

static Answer has_params(PyObject *place, int *some) {
    PyObject *params = PyObject_GetAttr(place, word_params);
    if (params == NULL)
        return -1;
    *some = PySet_GET_SIZE(params) > 0;
    Py_DECREF(params);
    return 1;
}

/* Say what decides what a function was given: an `Outer`, or NULL if nothing is known of it. */
static Answer outer_of(PyObject *readings, At *callee, int most, PyObject **outer) {
    At caller;
    PyObject *found, *place = NULL, *parts[MOST_PARTS], *further = NULL;
    int count = 0, some = 0;
    *outer = NULL;
    Answer done = called_at(readings, callee, &caller, &found);
    if (done != 1 || found == NULL || PyBool_Check(found)) {
        if (found != NULL)
            leave(&caller);
        Py_XDECREF(found);
        return done;
    }
    place = PyObject_GetAttr(found, word_place);
    done = place == NULL ? -1 : has_params(place, &some);
    if (done == 1 && some && most)
        done = outer_of(readings, &caller, most - 1, &further);
    if (done == 1) {
        parts[count++] = Py_NewRef(found);
        parts[count++] = further == NULL ? Py_NewRef(Py_None) : further;
        done = add_records(readings, place, &caller, parts, &count);
    }
    if (done == 1 && (*outer = tuple_of(parts, count)) == NULL)
        done = -1;
    drop(parts, count);
    Py_XDECREF(place);
    Py_DECREF(found);
    leave(&caller);
    return done;
}

static int any_known(PyObject *parts, Py_ssize_t from) {
    for (Py_ssize_t i = from; i < PyTuple_GET_SIZE(parts); i++)
        if (PyTuple_GET_ITEM(parts, i) != Py_None)
            return 1;
    return 0;
}

/* Whether a call gives a constant to one of some parameters. */
static Answer gives_constant(PyObject *found, PyObject *params, PyObject *constant) {
    PyObject *given = PyObject_GetAttr(found, word_given);
    PyObject *names = given == NULL ? NULL : PyObject_GetIter(params), *name;
    Answer some = names == NULL ? -1 : 0;
    while (some == 0 && (name = PyIter_Next(names)) != NULL) {
        PyObject *node = Py_XNewRef(PyDict_GetItemWithError(given, name));
        some = node == NULL ? (PyErr_Occurred() ? -1 : 0) : PyObject_IsInstance(node, constant);
        Py_XDECREF(node);
        Py_DECREF(name);
    }
    Py_XDECREF(names);
    Py_XDECREF(given);
    return PyErr_Occurred() ? -1 : some;
}

/* Whether anything is known of what a function was given for the parameters of a place. */
static Answer tells_any(PyObject *outer, PyObject *place, PyObject *constant) {
    if (any_known(outer, 2))
        return 1;
    PyObject *found = PyTuple_GET_ITEM(outer, 0), *further = PyTuple_GET_ITEM(outer, 1);
    PyObject *params = PyObject_GetAttr(place, word_params);
    Answer some = params == NULL ? -1 : gives_constant(found, params, constant);
    Py_XDECREF(params);
    if (some != 0 || further == Py_None)
        return some;
    PyObject *inner = PyObject_GetAttr(found, word_place);
    some = inner == NULL ? -1 : tells_any(further, inner, constant);
    Py_XDECREF(inner);
    return some;
}

/* Whether the parameters of the code count as dimensions: it is that of the decorated call. */
static Answer is_planned(PyObject *frame, PyObject *code) {
    PyObject *plan = PyObject_GetAttr(frame, word_plan);
    if (plan == NULL || plan == Py_None) {
        Py_XDECREF(plan);
        return plan == NULL ? -1 : 0;
    }
    PyObject *own = PyObject_GetAttr(plan, word_code);
    Answer same = own == NULL ? -1 : own == code;
    Py_XDECREF(own);
    Py_DECREF(plan);
    return same;
}

Answer passed_here(
    PyObject *readings, PyObject *frame, int always, PyObject *constant, PyObject **passed) {
    At at;
    PyObject *places = NULL, *place = NULL, *outer = NULL, *parts[MOST_PARTS];
    int count = 0, some = 0;
    Answer done = stand_here(&at);
    if (done != 1)
        return done;
    places = PyObject_GetAttr(readings, word_places);
    PyObject *kept =
        places == NULL ? NULL : found_at(places, at.code, at.offset, always ? Py_True : Py_False);
    if (kept == NULL) {
        done = PyErr_Occurred() ? -1 : 0;
        goto end;
    }
    place = Py_NewRef(PyTuple_GET_ITEM(kept, 1));
    Py_DECREF(kept);
    if (place == Py_None) {
        *passed = Py_NewRef(Py_None);
        goto end;
    }
    done = has_params(place, &some);
    if (done == 1 && some) {
        Answer planned = is_planned(frame, at.code);
        done = planned == 0 ? outer_of(readings, &at, MOST_CALLERS, &outer) : planned < 0 ? -1 : 0;
        Answer telling = outer == NULL ? 0 : tells_any(outer, place, constant);
        if (telling < 0)
            done = -1;
        else if (telling == 0)
            Py_CLEAR(outer);
    }
    if (done == 1) {
        parts[count++] = Py_NewRef(place);
        parts[count++] = Py_NewRef(Py_None);
        parts[count++] = PyTuple_New(0);
        parts[count++] = Py_NewRef(outer == NULL ? Py_None : outer);
        done = add_records(readings, place, &at, parts, &count);
    }
    if (done == 1) {
        *passed = tuple_of(parts, count);
        done = *passed == NULL ? -1 : 1;
        if (done == 1 && !always && outer == NULL && !any_known(*passed, 4))
            Py_SETREF(*passed, Py_NewRef(Py_None));
    }
    drop(parts, count);
end:
    Py_XDECREF(outer);
    Py_XDECREF(place);
    Py_XDECREF(places);
    leave(&at);
    return done;
}

/* Note a reading that a function may return, by where it is called. */
static Answer note_for_caller(PyObject *readings, PyObject *found, At *callee, PyObject *known) {
    At caller;
    PyObject *gave, *returned = NULL;
    Answer done = called_at(readings, callee, &caller, &gave);
    if (done != 1 || gave == NULL)
        return done;
    Py_DECREF(gave);
    returned = PyObject_GetAttr(readings, word_returned);
    PyObject *kept =
        returned == NULL ? NULL : found_at(returned, caller.code, caller.offset, NULL);
    if (PyErr_Occurred())
        done = -1;
    else if (kept != NULL && is_number(PyTuple_GET_ITEM(kept, 1), caller.frame) &&
             PyTuple_GET_ITEM(kept, 2) == found &&
             is_number(PyTuple_GET_ITEM(kept, 3), callee->frame)) {
        PyObject *read = PyTuple_GET_ITEM(kept, 4);
        if (known != NULL)
            done = PyDict_SetItem(read, callee->offset, known) < 0 ? -1 : 1;
        else if (PyDict_GetItemWithError(read, callee->offset) != NULL)
            done = PyDict_DelItem(read, callee->offset) < 0 ? -1 : 1;
    } else {
        PyObject *outside = number_of(caller.frame), *inside = number_of(callee->frame);
        PyObject *read = PyDict_New(), *made = NULL;
        if (outside && inside && read &&
            (known == NULL || PyDict_SetItem(read, callee->offset, known) == 0))
            made = PyTuple_Pack(5, caller.code, outside, found, inside, read);
        done = keep_at(returned, &caller, made);
        Py_XDECREF(read);
        Py_XDECREF(inside);
        Py_XDECREF(outside);
    }
    Py_XDECREF(kept);
    Py_XDECREF(returned);
    leave(&caller);
    return PyErr_Occurred() ? -1 : done;
}

Answer note_reading(PyObject *readings, PyObject *known) {
    At at;
    Answer done = stand_here(&at);
    if (done != 1)
        return done;
    PyObject *noted = PyObject_GetAttr(readings, word_noted);
    PyObject *returning = PyObject_GetAttr(readings, word_returning);
    PyObject *number = number_of(at.code), *found = NULL;
    if (noted == NULL || returning == NULL || number == NULL)
        done = -1;
    else
        found = Py_XNewRef(PyDict_GetItemWithError(returning, number));
    if (done == 1 && found == NULL)
        done = PyErr_Occurred() ? -1 : known == NULL;
    if (done == 1 && known != NULL) {
        PyObject *frame = number_of(at.frame);
        done = keep_at(noted, &at, frame ? PyTuple_Pack(3, at.code, frame, known) : NULL);
        Py_XDECREF(frame);
    } else if (done == 1)
        done = forget_at(noted, &at);
    if (done == 1 && found != NULL && PyTuple_GET_ITEM(found, 1) != Py_None)
        done = note_for_caller(readings, PyTuple_GET_ITEM(found, 1), &at, known);
    Py_XDECREF(found);
    Py_XDECREF(number);
    Py_XDECREF(returning);
    Py_XDECREF(noted);
    leave(&at);
    return PyErr_Occurred() ? -1 : done;
}
