/* The extension module: files, streams of batches, and columns with Python's buffer protocol.
 *
 *   File ---+
 *           +--> Stream --next()--> Batch --column()--> Column (a buffer)
 *   question+             \--arrow()--> a capsule "arrow_array_stream"
 *
 * It is of the limited API of 3.11: one file for all Pythons from then on. The interpreter's lock
 * is let go while a file is read. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/native/query.h"

struct types {
    PyObject *error, *file, *stream, *batch, *column;
};

struct file_object {
    PyObject_HEAD struct file *file; /* NULL: closed */
};

struct stream_object {
    PyObject_HEAD struct source source; /* close NULL: over */
};

struct batch_object {
    PyObject_HEAD struct batch *batch;
};

struct column_object {
    PyObject_HEAD struct batch *batch;
    unsigned number;
    Py_ssize_t shape[1], strides[1];
    char format[2];
};

static struct types *types_of(PyObject *module) { return PyModule_GetState(module); }

static struct types *types_by(PyObject *object) { return PyType_GetModuleState(Py_TYPE(object)); }

/* tracetape.Error(message, status, rule, offset, errno) */
static PyObject *raise_error(const struct types *types, const ttape_error *err)
{
    if (err->status == TTAPE_E_MEMORY)
        return PyErr_NoMemory();
    PyObject *offset = err->offset == TTAPE_ERROR_NO_OFFSET
                           ? Py_NewRef(Py_None)
                           : PyLong_FromUnsignedLongLong(err->offset);
    PyObject *values =
        Py_BuildValue("(sisNi)", err->message, (int)err->status, err->rule, offset, err->os_errno);
    if (values != NULL)
        PyErr_SetObject(types->error, values);
    Py_XDECREF(values);
    return NULL;
}

static void free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *make_object(PyObject *type)
{
    allocfunc allocate = PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    return allocate((PyTypeObject *)type, 0);
}

/* ---- File ---- */

static PyObject *open_file(PyObject *module, PyObject *arguments)
{
    PyObject *path;
    unsigned long long memory_bytes;
    unsigned jobs;
    ttape_error err = {0};
    if (!PyArg_ParseTuple(arguments, "O&KI", PyUnicode_FSConverter, &path, &memory_bytes, &jobs))
        return NULL;
    struct file_object *self = (struct file_object *)make_object(types_of(module)->file);
    const char *name = PyBytes_AsString(path);
    if (self != NULL && name != NULL) {
        Py_BEGIN_ALLOW_THREADS self->file = file_open(name, memory_bytes, jobs, &err);
        Py_END_ALLOW_THREADS if (self->file == NULL)
        {
            (void)raise_error(types_of(module), &err);
            Py_CLEAR(self);
        }
    }
    Py_DECREF(path);
    return (PyObject *)self;
}

static void file_dealloc(PyObject *self)
{
    file_drop(((struct file_object *)self)->file);
    free_object(self);
}

static PyObject *file_close(PyObject *self, PyObject *nothing)
{
    struct file_object *object = (struct file_object *)self;
    (void)nothing;
    file_drop(object->file);
    object->file = NULL;
    Py_RETURN_NONE;
}

/* False, with an exception: it is closed. */
static bool need_file(PyObject *self)
{
    if (((struct file_object *)self)->file != NULL)
        return true;
    PyErr_SetString(PyExc_ValueError, "the trace is closed");
    return false;
}

static PyObject *file_info(PyObject *self, PyObject *nothing)
{
    struct file *file = ((struct file_object *)self)->file;
    ttape_info info;
    char id[33];
    (void)nothing;
    if (!need_file(self))
        return NULL;
    ttape_reader_get_info(file->reader, &info);
    for (unsigned i = 0; i < 16; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", info.trace_id[i]);
    bool has_times = info.resolution_ns != TTAPE_TIME_NONE;
    return Py_BuildValue(
        "{s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:O,s:K,s:k,s:k,s:k,s:k,s:O,s:O,s:K}", "trace", id,
        "bytes", (unsigned long long)info.file_bytes, "events",
        (unsigned long long)info.event_count, "partitions",
        (unsigned long long)info.partition_count, "gaps", (unsigned long long)info.gap_count,
        "lost", (unsigned long long)info.lost_count, "time_first_ns",
        (unsigned long long)info.time_first_ns, "time_last_ns",
        (unsigned long long)info.time_last_ns, "has_times", has_times ? Py_True : Py_False,
        "resolution_ns", has_times ? (unsigned long long)info.resolution_ns : 0ull, "sites",
        (unsigned long)info.site_count, "modules", (unsigned long)info.module_count, "processes",
        (unsigned long)info.process_count, "streams", (unsigned long)info.stream_count, "complete",
        info.complete ? Py_True : Py_False, "truncated", info.truncated ? Py_True : Py_False,
        "damaged", (unsigned long long)atomic_load(&file->damaged));
}

static PyMethodDef file_methods[] = {
    {"close", file_close, METH_NOARGS, NULL}, {"info", file_info, METH_NOARGS, NULL}, {0}};
static PyType_Slot file_slots[] = {
    {Py_tp_dealloc, file_dealloc}, {Py_tp_methods, file_methods}, {0, NULL}};
static PyType_Spec file_spec = {"tracetape._tracetape.File", sizeof(struct file_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, file_slots};

/* ---- Stream ---- */

/* A copy of bytes; *out NULL for None. False: an exception. */
static bool copy_bytes(PyObject *from, size_t width, void **out, uint32_t *count)
{
    char *data;
    Py_ssize_t size;
    *out = NULL;
    *count = 0;
    if (from == Py_None)
        return true;
    if (PyBytes_AsStringAndSize(from, &data, &size) != 0)
        return false;
    *out = malloc((size_t)size + 1);
    if (*out == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    memcpy(*out, data, (size_t)size);
    *count = (uint32_t)((size_t)size / width);
    return true;
}

/* (File, number, streams or None, (from, to) or None, sites or None) */
static bool take_part(const struct types *types, struct part *part, PyObject *from)
{
    PyObject *file, *streams, *range, *sites;
    unsigned number;
    unsigned long long first = 0, last = 0;
    void *chosen, *wanted;
    if (!PyArg_ParseTuple(from, "O!IOOO", types->file, &file, &number, &streams, &range, &sites) ||
        !need_file(file))
        return false;
    if (range != Py_None && !PyArg_ParseTuple(range, "KK", &first, &last))
        return false;
    *part = (struct part){.file = file_keep(((struct file_object *)file)->file),
                          .number = number,
                          .has_range = range != Py_None,
                          .from_ns = first,
                          .to_ns = last};
    if (!copy_bytes(streams, sizeof(uint32_t), &chosen, &part->stream_count))
        return false;
    part->streams = chosen;
    if (!copy_bytes(sites, 1, &wanted, &part->site_count))
        return false;
    part->sites = wanted;
    return true;
}

static bool take_parts(const struct types *types, struct query *query, PyObject *list)
{
    Py_ssize_t count = PyList_Size(list);
    if (count < 0)
        return false;
    query->parts = calloc((size_t)count + 1, sizeof(struct part));
    if (query->parts == NULL) {
        (void)PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        query->part_count++;
        if (!take_part(types, &query->parts[i], PyList_GetItem(list, i)))
            return false;
    }
    return true;
}

static PyObject *start_query(PyObject *module, PyObject *arguments)
{
    struct query query = {0};
    PyObject *list;
    unsigned table;
    int skips, has_more, exact;
    unsigned long long memory_bytes;
    if (!PyArg_ParseTuple(arguments, "IO!pppIIIK", &table, &PyList_Type, &list, &skips, &has_more,
                          &exact, &query.by, &query.limit, &query.jobs, &memory_bytes))
        return NULL;
    query.table = (enum table)table;
    query.skips_damage = skips;
    query.has_more = has_more;
    query.exact = exact;
    query.memory_bytes = memory_bytes;
    struct stream_object *self = (struct stream_object *)make_object(types_of(module)->stream);
    if (self == NULL || !take_parts(types_of(module), &query, list)) {
        query_free(&query);
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    if (!query_start(&self->source, &query)) {
        self->source = (struct source){0};
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void close_source(struct stream_object *self)
{
    if (self->source.close != NULL)
        self->source.close(self->source.state);
    self->source.close = NULL;
}

static void stream_dealloc(PyObject *self)
{
    close_source((struct stream_object *)self);
    free_object(self);
}

/* A call without the interpreter's lock, which takes it back now and then: for Ctrl-C. */
struct waiting {
    PyThreadState *thread;
    bool is_over; /* with an exception */
};

static bool look_for_signals(void *context, uint64_t done, uint64_t all)
{
    struct waiting *waiting = context;
    (void)done;
    (void)all;
    PyEval_RestoreThread(waiting->thread);
    waiting->is_over = waiting->is_over || PyErr_CheckSignals() != 0;
    waiting->thread = PyEval_SaveThread();
    return !waiting->is_over;
}

static PyObject *stream_next(PyObject *self)
{
    struct stream_object *object = (struct stream_object *)self;
    struct source source = object->source;
    struct batch *batch = NULL;
    ttape_error err = {0};
    ttape_status status;
    if (source.close == NULL)
        return NULL; /* it is over */
    struct waiting waiting = {0};
    const ttape_watch watch = {look_for_signals, &waiting};
    object->source.close = NULL; /* nobody else takes from it meanwhile */
    waiting.thread = PyEval_SaveThread();
    status = source.next(source.state, &watch, &batch, &err);
    PyEval_RestoreThread(waiting.thread);
    object->source = source;
    if (waiting.is_over) {
        batch_drop(batch);
        return NULL;
    }
    if (status != TTAPE_OK)
        return raise_error(types_by(self), &err);
    if (batch == NULL) {
        close_source(object);
        return NULL;
    }
    struct batch_object *made = (struct batch_object *)make_object(types_by(self)->batch);
    if (made == NULL)
        batch_drop(batch);
    else
        made->batch = batch;
    return (PyObject *)made;
}

/* ---- rows in memory of others ---- */

enum { COLUMNS_MOST = 16 };

static void give_back(Py_buffer *views, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        PyBuffer_Release(&views[i]);
}

/* The columns' buffers, of which the shortest says how many rows there is room for. */
static bool take_buffers(const struct source *source, PyObject *list, Py_buffer *views,
                         struct batch *batch)
{
    batch->capacity = SIZE_MAX;
    for (unsigned i = 0; i < source->column_count; i++) {
        size_t width = column_width(source->columns[i].kind);
        if (PyObject_GetBuffer(PyList_GetItem(list, i), &views[i], PyBUF_WRITABLE) != 0) {
            give_back(views, i);
            return false;
        }
        batch->data[i] = views[i].buf;
        if ((size_t)views[i].len / width < batch->capacity)
            batch->capacity = (size_t)views[i].len / width;
    }
    return true;
}

/* Rows into a list of buffers, one a column; how many. */
static PyObject *stream_fill(PyObject *self, PyObject *list)
{
    struct stream_object *object = (struct stream_object *)self;
    struct source source = object->source;
    Py_buffer views[COLUMNS_MOST];
    void *data[COLUMNS_MOST];
    struct batch batch = {
        .columns = source.columns, .column_count = source.column_count, .data = data};
    struct waiting waiting = {0};
    const ttape_watch watch = {look_for_signals, &waiting};
    ttape_error err = {0};
    if (source.close == NULL)
        return PyLong_FromLong(0);
    if (source.fill == NULL || source.column_count > COLUMNS_MOST ||
        PyList_Size(list) != (Py_ssize_t)source.column_count) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a buffer is wanted for each column of numbers");
        return NULL;
    }
    if (!take_buffers(&source, list, views, &batch))
        return NULL;
    object->source.close = NULL;
    waiting.thread = PyEval_SaveThread();
    ttape_status status = source.fill(source.state, &watch, &batch, &err);
    PyEval_RestoreThread(waiting.thread);
    object->source = source;
    give_back(views, source.column_count);
    if (waiting.is_over)
        return NULL;
    return status == TTAPE_OK ? PyLong_FromSize_t(batch.rows) : raise_error(types_by(self), &err);
}

static void free_capsule(PyObject *capsule)
{
    arrow_free(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
}

/* What is left of it; the stream is over then. */
static PyObject *stream_arrow(PyObject *self, PyObject *nothing)
{
    struct stream_object *object = (struct stream_object *)self;
    (void)nothing;
    if (object->source.close == NULL) {
        PyErr_SetString(PyExc_ValueError, "the stream is over");
        return NULL;
    }
    struct ArrowArrayStream *stream = arrow_allocate();
    if (stream == NULL)
        return PyErr_NoMemory();
    if (!arrow_export(stream, &object->source)) {
        free(stream);
        return PyErr_NoMemory();
    }
    object->source.close = NULL;
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_capsule);
    if (capsule == NULL)
        arrow_free(stream);
    return capsule;
}

static PyMethodDef stream_methods[] = {
    {"arrow", stream_arrow, METH_NOARGS, NULL}, {"fill", stream_fill, METH_O, NULL}, {0}};
static PyType_Slot stream_slots[] = {{Py_tp_dealloc, stream_dealloc},
                                     {Py_tp_iter, PyObject_SelfIter},
                                     {Py_tp_iternext, stream_next},
                                     {Py_tp_methods, stream_methods},
                                     {0, NULL}};
static PyType_Spec stream_spec = {"tracetape._tracetape.Stream", sizeof(struct stream_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  stream_slots};

/* ---- Batch and Column ---- */

static void batch_dealloc(PyObject *self)
{
    batch_drop(((struct batch_object *)self)->batch);
    free_object(self);
}

static Py_ssize_t batch_length(PyObject *self)
{
    return (Py_ssize_t)((struct batch_object *)self)->batch->rows;
}

static bool take_number(struct batch *batch, PyObject *from, unsigned *number)
{
    unsigned long value = PyLong_AsUnsignedLong(from);
    if (PyErr_Occurred())
        return false;
    if (value < batch->column_count) {
        *number = (unsigned)value;
        return true;
    }
    PyErr_SetString(PyExc_IndexError, "no such column");
    return false;
}

/* Numbers: a Column. Texts: a list of them. */
static PyObject *batch_column(PyObject *self, PyObject *which)
{
    struct batch *batch = ((struct batch_object *)self)->batch;
    unsigned number;
    if (!take_number(batch, which, &number))
        return NULL;
    if (batch->columns[number].kind == COLUMN_TEXT) {
        const int64_t *offsets = batch->data[number];
        const char *text = batch->texts[number] != NULL ? batch->texts[number] : "";
        PyObject *list = PyList_New((Py_ssize_t)batch->rows);
        for (size_t i = 0; i < batch->rows && list != NULL; i++) {
            PyObject *item = PyUnicode_DecodeUTF8(
                text + offsets[i], (Py_ssize_t)(offsets[i + 1] - offsets[i]), "surrogateescape");
            if (item == NULL)
                Py_CLEAR(list);
            else
                (void)PyList_SetItem(list, (Py_ssize_t)i, item);
        }
        return list;
    }
    struct column_object *column = (struct column_object *)make_object(types_by(self)->column);
    if (column == NULL)
        return NULL;
    column->batch = batch_keep(batch);
    column->number = number;
    column->format[0] = batch->columns[number].kind;
    column->shape[0] = (Py_ssize_t)batch->rows;
    column->strides[0] = (Py_ssize_t)column_width(column->format[0]);
    return (PyObject *)column;
}

static PyMethodDef batch_methods[] = {{"column", batch_column, METH_O, NULL}, {0}};
static PyType_Slot batch_slots[] = {{Py_tp_dealloc, batch_dealloc},
                                    {Py_sq_length, batch_length},
                                    {Py_tp_methods, batch_methods},
                                    {0, NULL}};
static PyType_Spec batch_spec = {"tracetape._tracetape.Batch", sizeof(struct batch_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 batch_slots};

static void column_dealloc(PyObject *self)
{
    batch_drop(((struct column_object *)self)->batch);
    free_object(self);
}

/* Read only: Arrow arrays and other columns' owners see the same memory. */
static int column_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct column_object *column = (struct column_object *)self;
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "columns are read only");
        view->obj = NULL;
        return -1;
    }
    *view =
        (Py_buffer){.buf = column->batch->data[column->number],
                    .obj = Py_NewRef(self),
                    .len = column->shape[0] * column->strides[0],
                    .itemsize = column->strides[0],
                    .readonly = 1,
                    .ndim = 1,
                    .format = (flags & PyBUF_FORMAT) != 0 ? column->format : NULL,
                    .shape = (flags & PyBUF_ND) != 0 ? column->shape : NULL,
                    .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? column->strides : NULL};
    return 0;
}

static PyType_Slot column_slots[] = {
    {Py_tp_dealloc, column_dealloc}, {Py_bf_getbuffer, column_get_buffer}, {0, NULL}};
static PyType_Spec column_spec = {"tracetape._tracetape.Column", sizeof(struct column_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  column_slots};

/* ---- the module ---- */

/* [(name, kind, has_none, words or None)] of a table. */
static PyObject *columns(PyObject *module, PyObject *arguments)
{
    unsigned table, count;
    int has_more;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Ip", &table, &has_more))
        return NULL;
    struct query query = {.table = (enum table)table, .has_more = has_more};
    const struct column *all = query_columns(&query, &count);
    PyObject *list = PyList_New(0);
    for (unsigned i = 0; i < count && list != NULL; i++) {
        PyObject *words = all[i].words != NULL ? PyList_New(0) : Py_NewRef(Py_None);
        for (unsigned j = 0; words != NULL && all[i].words != NULL && all[i].words[j] != NULL;
             j++) {
            PyObject *word = PyUnicode_FromString(all[i].words[j]);
            if (word == NULL || PyList_Append(words, word) != 0)
                Py_CLEAR(words);
            Py_XDECREF(word);
        }
        PyObject *row = words == NULL ? NULL
                                      : Py_BuildValue("(sCON)", all[i].name, all[i].kind,
                                                      all[i].has_none ? Py_True : Py_False, words);
        if (row == NULL || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyMethodDef module_methods[] = {{"open", open_file, METH_VARARGS, NULL},
                                       {"query", start_query, METH_VARARGS, NULL},
                                       {"columns", columns, METH_VARARGS, NULL},
                                       {0}};

static int fill_module(PyObject *module)
{
    struct types *types = types_of(module);
    const struct {
        PyType_Spec *spec;
        PyObject **type;
    } all[] = {{&file_spec, &types->file},
               {&stream_spec, &types->stream},
               {&batch_spec, &types->batch},
               {&column_spec, &types->column}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        *all[i].type = PyType_FromModuleAndSpec(module, all[i].spec, NULL);
        if (*all[i].type == NULL)
            return -1;
    }
    types->error = PyErr_NewException("tracetape.NativeError", PyExc_Exception, NULL);
    return types->error != NULL ? PyModule_AddObjectRef(module, "NativeError", types->error) : -1;
}

static int clear_module(PyObject *module)
{
    struct types *types = types_of(module);
    Py_CLEAR(types->error);
    Py_CLEAR(types->file);
    Py_CLEAR(types->stream);
    Py_CLEAR(types->batch);
    Py_CLEAR(types->column);
    return 0;
}

static void free_module(void *module) { (void)clear_module(module); }

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill_module}, {0, NULL}};
static struct PyModuleDef module_def = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "_tracetape",
                                        .m_size = sizeof(struct types),
                                        .m_methods = module_methods,
                                        .m_slots = module_slots,
                                        .m_clear = clear_module,
                                        .m_free = free_module};

PyMODINIT_FUNC PyInit__tracetape(void);
PyMODINIT_FUNC PyInit__tracetape(void) { return PyModuleDef_Init(&module_def); }
