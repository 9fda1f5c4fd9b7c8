"""Kinds of failure that one line tells, what is said about them, and what is not said."""

import pytest
from corpus import FILES, diagnosed

from planner_app.core.doctor import Kind, Sure, diagnose_text
from planner_app.core.doctor.signs import SIGNS
from planner_app.core.doctor.signs.sign import told

SMALLER = "smaller batch"


def test_that_every_row_of_the_table_says_what_it_means():
    assert len({sign.name for sign in SIGNS}) == len(SIGNS)
    for sign in SIGNS:
        assert sign.says and all(sentence.endswith(".") for sentence in (*sign.says, *sign.means, *sign.do))
        assert sign.sure is not Sure.POSSIBLE or sign.asks
        assert all(rule.name == sign.name for rule in sign.rules)


def test_that_the_last_verdict_of_a_row_needs_only_what_every_spelling_tells():
    for sign in SIGNS:
        for rule in sign.rules:
            names = {*rule.after.groupindex, *(rule.before.groupindex if rule.before else ())}
            groups = {**rule.given, **{name: "B" if name.endswith("_unit") else "1" for name in names}}
            assert told(sign.says, groups), (sign.name, rule.mark)


@pytest.mark.parametrize(
    "name", ["batch_of_one", "jax_small_request", "tf14_nothing_free", "pinned_wsl", "real_dmesg_cgroup"]
)
def test_that_a_smaller_batch_is_advised_only_where_it_can_help(name):
    helps = name == "jax_small_request"
    assert any(SMALLER in remedy for remedy in diagnosed(name).remedies) is helps


def test_that_a_size_to_plan_for_is_named_only_where_the_log_tells_one():
    for name in FILES:
        found = diagnosed(name)
        for remedy in found.remedies:
            assert "--device 8GiB" not in remedy
            if "--device " in remedy and "GiB" in remedy:
                assert found.kind is Kind.OTHER_PROCESS and (found.limit_bytes or found.total_bytes)


def test_that_what_is_not_proven_is_not_called_certain():
    for name in ("glued_killed", "docker_exit_137", "colab_restart", "real_child_killed", "jax_no_reference", "cubin"):
        assert diagnosed(name).sure is not Sure.CERTAIN
    for name in ("glued_killed", "docker_exit_137", "colab_restart", "tf24_little_limit", "jax_solver_handle"):
        assert diagnosed(name).question.count("?") >= 1
    for name in ("kubectl_describe", "slurm_oom_killed_tasks", "real_dmesg_cgroup", "colab_ram"):
        assert (diagnosed(name).sure, diagnosed(name).question) == (Sure.CERTAIN, "")


def test_that_what_came_of_a_refusal_is_asked_where_the_log_ends_with_it():
    for name in ("rocm_regions_refused", "tf12_refused_then_nothing"):
        found = diagnosed(name)
        assert (found.sure, found.question.count("?")) == (Sure.POSSIBLE, 1)
        assert "Nothing failed" not in found.verdict
    assert diagnosed("preallocation_refused").verdict.startswith("Nothing failed")  # an epoch stands behind it


def test_that_other_processes_are_not_blamed_where_enough_was_free():
    found = diagnosed("pytorch_more_free_than_asked")
    assert "other processes" not in found.verdict
    assert "limit" in found.question


def test_that_a_heading_is_no_failure_of_its_own():
    assert diagnosed("keras_on_pytorch").others == ()


def test_that_steps_behind_an_error_are_asked_about():
    assert "catch" in diagnosed("caught_and_went_on").question
    assert diagnosed("cut_off").question == ""


def test_that_cudnn_of_the_same_version_is_not_another_one():
    found = diagnosed("cudnn_full_same_version")
    assert (found.kind, found.sure) == (Kind.LIBRARIES, Sure.CERTAIN)
    assert "4.31 MiB of 15.8 GiB" in found.verdict


def test_that_amounts_without_a_unit_are_bytes_and_shapes_are_told():
    assert "625 MiB" in diagnosed("miopen_buffer").verdict
    assert "26936, 224, 224, 3, float32" in diagnosed("numpy117_array").verdict
    assert diagnosed("horovodrun_rank").rank == "3"


@pytest.mark.parametrize("text", ["Killed", "Exit code: 137", "worker exited (137)"])
def test_that_a_process_that_was_killed_gets_a_careful_answer(text):
    found = diagnose_text(text)
    assert (found.kind, found.sure) == (Kind.KILLED, Sure.POSSIBLE)
    assert "dmesg" in found.question


def test_that_memory_that_was_free_rules_memory_out():
    full, empty = diagnosed("jax_cudnn_handle_full"), diagnosed("jax_cudnn_handle_empty")
    assert "only 87.0 MiB of 3.94 GiB were free" in full.verdict
    assert (empty.kind, empty.kind.failed) == (Kind.OTHER_ERROR, False)


def test_that_each_framework_gets_its_own_advice():
    jax, torch = diagnosed("jax_buffer_assignment"), diagnosed("pytorch_newer")
    assert (jax.framework, torch.framework) == ("JAX", "PyTorch")
    assert not any("Keras" in remedy or "keras" in remedy or "jit_compile" in remedy for remedy in jax.remedies)
    assert torch.remedies[-1].startswith("Estimates and advice of this program are for Keras models")
    assert "Process 5521 holds 14.1 GiB." in torch.why


def test_that_ranks_are_told_apart():
    found = diagnosed("real_interleaved")
    assert (found.rank, found.in_use_bytes) == ("1", 285771008)
    assert "last step" not in " ".join(found.why)  # the other rank's
    assert diagnosed("ray_worker").rank == "TrainWorker pid=4411, ip=10.0.0.7"


def test_that_who_held_the_memory_adds_up():
    shares = {share.who: share.size_bytes for share in diagnosed("pytorch_newer").shares}
    assert abs(sum(shares.values()) - round(23.65 * 2**30)) < 2**20
    shares = {share.who: share.size_bytes for share in diagnosed("tf24_requested_by").shares}
    assert sum(shares.values()) == diagnosed("tf24_requested_by").limit_bytes


def test_that_what_is_missing_is_said():
    assert "TF_CPP_MIN_LOG_LEVEL" in diagnosed("batch_of_one").missing[0]
    assert "further up" in diagnosed("dump_without_head").missing[0]
    assert not diagnosed("tf24_requested_by").missing


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("zsh: killed     python fit.py", Kind.KILLED),
        ("[1]+  Killed                  python fit.py", Kind.KILLED),
        ("./job.sh: line 3: 12345 Killed                  python fit.py", Kind.KILLED),
        ("Container killed on request. Exit code is 137", Kind.KILLED),
        ("The kernel for fit.ipynb appears to have died. It will restart automatically.", Kind.KILLED),
        ("Container killed by YARN for exceeding memory limits. 5 GB of 5 GB physical memory used.", Kind.HOST),
        ("=>> PBS: job killed: mem 4194500kb exceeded limit 4194304kb", Kind.HOST),
        ("slurmstepd: error: Step 7.0 exceeded memory limit (8419328 > 8388608), being killed", Kind.HOST),
        (
            "ResourceExhaustedError: Failed to allocate memory for the batch of component 0 [Op:IteratorGetNext]",
            Kind.HOST,
        ),
        ("OSError: [WinError 1455] The paging file is too small for this operation to complete", Kind.HOST),
        ("RuntimeError: CUDA error: out of memory", Kind.UNKNOWN),
        ("torch.cuda.OutOfMemoryError: Allocation on device", Kind.UNKNOWN),
        ("java.lang.OutOfMemoryError: Java heap space", Kind.UNKNOWN),
        (
            "E gpu.cc:91] CUDA runtime implicit initialization on GPU:0 failed. Status: out of memory",
            Kind.OTHER_PROCESS,
        ),
        (
            "RESOURCE_EXHAUSTED: Attempting to reserve 9.71G at the bottom of memory. There are 7.98G free",
            Kind.SHORTAGE,
        ),
        ("InternalError: Blas GEMM launch failed : a.shape=(32, 784), b.shape=(784, 512)", Kind.LIBRARIES),
        ("OSError: [Errno 28] No space left on device", Kind.OTHER_ERROR),
        ("RESOURCE_EXHAUSTED: Received message larger than max (5 vs. 4)", Kind.OTHER_ERROR),
        ("##[error]Process completed with exit code 137.", Kind.KILLED),
        ("make: *** [Makefile:12: train] Error 137", Kind.KILLED),
        ("mpirun noticed that process rank 2 with PID 0 on node a exited on signal 9 (Killed).", Kind.KILLED),
        ("srun: error: node12: task 3: Killed", Kind.KILLED),
        ("App [train:0] exited with code [0] via signal [SIGKILL]", Kind.KILLED),
        ("=>> PBS: job killed: vmem 34359738368 exceeded limit 17179869184", Kind.HOST),
        ('"stoppedReason": "OutOfMemoryError: Container killed due to memory usage", "exitCode": 137', Kind.HOST),
        ("libtensorflow.so.2: failed to map segment from shared object: Cannot allocate memory", Kind.HOST),
        ("errors_impl.NotFoundError: No algorithm worked! [Op:Conv2D]", Kind.LIBRARIES),
        ("Memory limit of 512 MiB exceeded with 530 MiB used.", Kind.HOST),
        ("train.service: Main process exited, code=killed, status=9/KILL", Kind.KILLED),
        ("train:  45%|####5     | 450/1000 [02:11<02:40,  3.42it/s, loss=0.21]Get\u00f6tet", Kind.HOST),
        ("./run.sh: Zeile 4: 2212 Get\u00f6tet                 python train.py", Kind.KILLED),
        ("systemd-oomd[8]: Killed /user.slice/a.scope due to memory used (30120) / total (33001)", Kind.HOST),
        ("Error from slot1: Job has gone over cgroup memory limit of 8192 megabytes.", Kind.HOST),
        ("(raylet) node_manager.cc:3069: 13 Workers (tasks / actors) killed due to memory pressure (OOM)", Kind.HOST),
        ("(raylet) node_manager.cc:3069: 0 Workers (tasks / actors) killed due to memory pressure (OOM)", Kind.NONE),
        ("distributed.nanny - WARNING - Worker tcp://:4411 exceeded 95% memory budget. Restarting...", Kind.HOST),
        ("ray.exceptions.ObjectStoreFullError: Failed to put object 00ff in object store", Kind.HOST),
        ("The replica master 0 ran out-of-memory and exited with a non-zero status of 137(SIGKILL).", Kind.HOST),
        ("pyarrow.lib.ArrowMemoryError: malloc of size 4294967296 failed", Kind.HOST),
        ("MemoryError: std::bad_alloc: out_of_memory: CUDA error at: rmm.hpp: cudaErrorMemoryAllocation", Kind.UNKNOWN),
        (
            "DataLoader worker (pid 4) is killed by signal: Bus error. workers are out of shared memory.",
            Kind.OTHER_ERROR,
        ),
        ("RayOutOfMemoryError: More than 95% of the memory on node n7 is used (61 / 64 GB).", Kind.HOST),
        ("ClientError: Please use an instance type with more memory, or reduce the size of training data", Kind.HOST),
        (
            "OSError: [WinError 1455] Die Auslagerungsdatei ist zu klein, um diesen Vorgang durchzuf\u00fchren",
            Kind.HOST,
        ),
        ("NCCL WARN Error while creating shared memory segment /dev/shm/nccl-aK3 (size 9637888)", Kind.OTHER_ERROR),
        ("RESOURCE_EXHAUSTED: CUDA driver ran out of memory trying to instantiate CUDA graph with 32 nodes", Kind.XLA),
        ("INTERNAL: Failed to instantiate CUDA graph: CUDA_ERROR_OUT_OF_MEMORY: out of memory", Kind.XLA),
        ("Autotuning failed for HLO: %f = bf16[8] with error: NOT_FOUND: No valid config found!", Kind.AUTOTUNER),
        ("All configs failed during profiling. Failures (12): WRONG RESULTS", Kind.OTHER_ERROR),
        ('"OOMKilled": false, "ExitCode": 1', Kind.NONE),
        ("RuntimeError: mmap: cannot allocate memory (12)", Kind.HOST),
        ("UserWarning: Your input ran out of data; interrupting training.", Kind.NONE),
        ("Segmentation fault (core dumped)", Kind.NONE),
        (
            "W Failed to allocate memory for convolution redzone checking; skipping this check. This is benign",
            Kind.NONE,
        ),
        ("My GPU runs out of memory sometimes, any advice?", Kind.NONE),
        ('earlyoom[700]: sending SIGTERM to process 21 uid 7 "python": badness 991, VmRSS 28100 MiB', Kind.HOST),
        ("5120.batch OUT_OF_MEMORY 0:125", Kind.HOST),
        ("Job was held. Memory usage (20480 MB) exceeded request (16384 MB)", Kind.HOST),
        ('job 41 exceeds job hard limit "h_vmem" of queue (8.1G > limit:8.0G) - sending SIGKILL', Kind.HOST),
        ("./run.sh: line 12: 771 Killed: 9               python main.py", Kind.KILLED),
        ("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)", Kind.KILLED),
        ("LoadError: Out of GPU memory trying to allocate 8.016 MiB", Kind.UNKNOWN),
        ("OutOfMemoryError: Out of memory allocating 3,072 bytes (allocated so far: 4,831,838 bytes).", Kind.UNKNOWN),
        ("Bus error (core dumped)", Kind.OTHER_ERROR),
        ("=>> PBS: job killed: walltime 86413 exceeded limit 86400", Kind.OTHER_ERROR),
        ("XlaRuntimeError: UNKNOWN: Failed to determine best cudnn convolution algorithm: INTERNAL: x", Kind.AUTOTUNER),
        (
            "W picker.cc:80] All algorithms tried for %c = f32[] failed. Falling back to default algorithm.",
            Kind.HARMLESS,
        ),
        ("CUDNN_STATUS_ALLOC_FAILED = 4,", Kind.NONE),
        ("restartPolicy: OnFailure # in case of OOMKilled", Kind.NONE),
        ('print("CUDA_ERROR_OUT_OF_MEMORY, trying half the batch")', Kind.NONE),
        ("except MemoryError:", Kind.NONE),
    ],
)
def test_that_one_line_is_enough_where_it_tells(line, kind):
    assert diagnose_text(line).kind is kind


def test_that_words_of_errors_in_a_text_about_errors_are_no_failure():
    named = "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    for text in (f"If you see {named}", f"`{named}`", f"# {named}", f"* **{named}**", f"{named} usually means"):
        assert diagnose_text(text).kind is Kind.NONE, text
    assert diagnose_text("train exited with code 137. That usually means OOM").kind.failed
    for text in (
        named,
        f"E cuda_driver.cc:313] failed call: {named}",
        f"RuntimeError: {named}",
        f"Error when running: {named}",
    ):
        assert diagnose_text(text).kind.failed, text


def test_that_numbers_of_half_precision_get_no_advice_to_halve_them():
    half, single = diagnosed("batch_of_one_half"), diagnosed("batch_of_one")
    assert not any("mixed" in remedy for remedy in half.remedies)
    assert any("mixed" in remedy for remedy in single.remedies)


def test_that_results_which_a_loop_keeps_are_asked_for():
    silent = diagnosed("tf221_provoked_silent_loop")
    assert "29 tensors of just that size" in silent.question and "Look for tensors" in silent.remedies[0]
    assert diagnosed("tf221_provoked_own_loop").steps == 25


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("step 7: loss 0.31", 7),
        ("Step: 12/400, loss=0.3", 12),
        ("[Epoch 3] [Batch 5/100] [D loss: 0.3]", 6),
        ("Epoch: 4, Train Loss: 0.2", 1),
        ("batch_size 32, loss mse", 0),
    ],
)
def test_that_steps_of_a_loop_of_one_s_own_count(line, steps):
    assert diagnose_text(line).steps == steps


def test_that_the_autotuner_is_named_where_the_size_stands_on_its_line():
    refused = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes."
    found = diagnose_text(f"Autotuning failed for HLO: %conv.7 = (f32[64,256]) custom-call(), with error: {refused}")
    assert (found.kind, found.requested_bytes) == (Kind.AUTOTUNER, 2 << 30)
    behind = diagnosed("jax_autotuner_allocator")
    assert any("autotune_level=0" in remedy for remedy in behind.remedies)


def test_that_a_sum_counts_where_the_dump_lost_its_beginning():
    found = diagnosed("dump_from_its_middle")
    assert "21.0 GiB of 21.4 GiB were in use by then." in found.why
    assert found.largest_free_bytes is None


def test_that_pytorch_gets_no_advice_of_tensorflow():
    found = diagnose_text("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
    assert (found.framework, found.kind) == ("PyTorch", Kind.LIBRARIES)
    assert not any("tf." in remedy or "TensorFlow" in remedy for remedy in found.remedies)


ON_GPU = "and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"


def test_that_a_traceback_before_its_error_tells_what_ran():
    frame = '  File "/v/keras/src/backend/tensorflow/trainer.py", line 562, in predict\n'
    error = f"OOM when allocating tensor with shape[4096,64,112,112] {ON_GPU}\n"
    assert "It failed in prediction" in diagnose_text(frame + error).why[0]
    assert not any("prediction" in why for why in diagnose_text(frame + "\n" * 100 + error).why)


def test_that_weights_that_do_not_fit_get_no_smaller_batch():
    frame = '  File "/v/keras/src/backend/tensorflow/random.py", line 61, in uniform\n'
    found = diagnose_text(f"{frame}OOM when allocating tensor with shape[20000000,128] {ON_GPU} [Op:AddV2]\n")
    assert found.remedies[0] == "The model's own variables do not fit: a smaller batch changes nothing."
    assert not any("Use a smaller batch" in remedy for remedy in found.remedies)


def test_that_validation_gets_its_own_batch_where_an_epoch_had_ended():
    bar = "Epoch 1/3\n200/200 [====] - ETA: 0s - loss: 0.4"
    found = diagnose_text(f"{bar}OOM when allocating tensor with shape[128,64,288,288] {ON_GPU}\n")
    assert "validation_batch_size" in found.remedies[0]


def test_that_a_run_that_ended_in_another_error_is_not_said_to_have_gone_well():
    warned = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 317.69MiB. this is not a failure\n"
    assert diagnose_text(warned).verdict.startswith("Nothing failed: ")
    error = "Traceback (most recent call last):\nValueError: Shapes (8, 10) and (8, 11) are incompatible\n"
    assert diagnose_text(warned + error).verdict.startswith("No memory ran out: ")


def test_that_docker_s_word_on_its_own_limit_is_passed_on():
    found = diagnose_text('"State": {"Status": "exited", "OOMKilled": false, "ExitCode": 137}\n')
    assert found.kind is Kind.KILLED
    assert any("OOMKilled is false" in why for why in found.why)


def test_that_an_allocator_whom_the_driver_refused_just_before_was_not_at_its_limit():
    refused = (
        "E cuda_driver.cc:1101] failed to allocate 512.00MiB (536870912 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY"
    )
    failed = "W bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 90.00MiB"
    near, far = diagnose_text(f"{refused}\n{failed}\n"), diagnose_text(f"{refused}\nEpoch 1/2\n\n\n\n{failed}\n")
    assert (near.kind, near.sure) == (Kind.OTHER_PROCESS, Sure.LIKELY)
    assert far.kind is Kind.SHORTAGE


def test_that_a_shuffle_buffer_that_filled_when_the_process_was_killed_points_to_memory():
    filling = "shuffle_dataset_op.cc:422] Filling up shuffle buffer (this may take a while): 4120 of 50000"
    assert (diagnose_text(f"{filling}\nKilled").kind, diagnose_text("Killed").kind) == (Kind.HOST, Kind.KILLED)


def test_that_no_more_was_in_use_than_there_was():
    failed = "gpu_async_0 cuMemAllocAsync failed to allocate 1610612736 bytes: CUDA error: out of memory"
    free = " Reported by CUDA: Free memory/Total memory: 301400064/16945512448"
    found = diagnose_text(f"E {failed}\n{free}\nE Stats: Limit:      14648999936\nInUse:      15901000000\n")
    assert found.in_use_bytes == 15901000000 and found.limit_bytes == 16945512448


def test_that_numpy_may_write_a_size_without_decimals():
    found = diagnose_text("Resource exhausted: MemoryError: Unable to allocate 184. MiB for an array with shape (64,)")
    assert (found.kind, found.requested_bytes) == (Kind.HOST, 184 << 20)


def test_that_a_driver_that_refused_jax_points_to_the_gpu_and_not_to_the_machine():
    refused = "E cuda_driver.cc:1] failed to allocate 8.88GiB (9538011136 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY"
    found = diagnose_text(f"{refused}\njaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 16 bytes.")
    assert (found.kind, found.sure) == (Kind.OTHER_PROCESS, Sure.LIKELY)


def test_that_refused_unified_memory_is_the_cause_of_the_error_that_follows():
    refused = "E cuda_driver.cc:7] failed to alloc 4294967296 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY"
    found = diagnose_text(f"{refused}\nResource exhausted: Out of memory while trying to allocate 4294967296 bytes.")
    assert found.kind is Kind.UNIFIED


def test_that_a_gpu_of_which_next_to_nothing_was_given_is_shared_whatever_its_name():
    created = "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 190 MB memory:  -> device: 0, "
    named = f"{created}name: Unheard Of, pci bus id: 0000:01:00.0, compute capability: 6.1"
    failed = "W bfc_allocator.cc:479] Allocator (GPU_0_bfc) ran out of memory trying to allocate 98.00MiB"
    assert diagnose_text(f"{named}\n{failed}").kind is Kind.OTHER_PROCESS


def test_that_a_batch_size_that_was_tried_in_vain_is_no_failure_of_the_training_that_went_on():
    tried = "trying 64: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.00 GiB"
    epoch = "Epoch 1/1\n100/100 [====] - 10s 95ms/step - loss: 0.2"
    assert diagnose_text(f"{tried}\n{epoch}").kind is Kind.HARMLESS
    assert diagnose_text(f"{epoch}\n{tried}").kind.failed
    assert diagnose_text(f"Traceback (most recent call last):\n{tried}\n{epoch}").kind.failed


def test_that_advice_names_tools_of_the_machine_it_is_for():
    for line in ("failed to allocate 1G (1073741824 bytes): hipErrorOutOfMemory", "MPS backend out of memory (x)"):
        assert not any("nvidia-smi" in said for said in (*diagnose_text(line).remedies, diagnose_text(line).question))


def test_that_the_size_is_told_where_the_line_tells_it():
    line = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 25769803776 bytes. Error code 12 ("
    assert diagnose_text(f"{line}Cannot allocate memory)").requested_bytes == 24 << 30
