export const mutants = [
  {
    name: "a task that cannot be asked about is released",
    file: "gateway/src/tasks/task-rules.ts",
    find: 'if (report.kind === "no_verdict") return silence(task, asked);',
    replace:
      'if (report.kind === "no_verdict") return { kind: "end", used: undefined, end: { taskId: task.id, fence: task.fence, state: "FAILED", report: undefined, forgetAtMs: asked.nowMs } };',
    tests: ["test/tasks/task-verdicts.test.ts"],
  },
  {
    name: "a task that its vendor forgot is taken for failed",
    file: "gateway/src/tasks/task-rules.ts",
    find: 'case "UNKNOWN":\n      return silence(task, { ...asked, missing: true });',
    replace:
      'case "UNKNOWN":\n      return { kind: "end", used: undefined, end: { taskId: task.id, fence: task.fence, state: "FAILED", report, forgetAtMs: asked.nowMs } };',
    tests: ["test/tasks/task-verdicts.test.ts"],
  },
  {
    name: "a video of less than half a second is free",
    file: "gateway/src/tasks/task-rules.ts",
    find: "Math.max(1, Math.round(durationSeconds + inputSeconds))",
    replace: "Math.round(durationSeconds + inputSeconds)",
    tests: ["gateway/src/tasks/task-rules.test.ts"],
  },
  {
    name: "a video of an older model is charged by what was asked for",
    file: "gateway/src/upstreams/protocols/dashscope.ts",
    find: '["output_video_duration", "duration", "video_duration"]',
    replace: '["output_video_duration", "duration"]',
    tests: ["test/tasks/video-ends.test.ts"],
  },
  {
    name: "a task that failed tells its caller what the operator owes",
    file: "gateway/src/upstreams/protocols/dashscope.ts",
    find: ", ...reasonOf(output) }",
    replace: " }",
    tests: ["test/tasks/video-ends.test.ts"],
  },
  {
    name: "nobody hears of an upstream that says nothing of tasks which it may have made and billed",
    file: "gateway/src/tasks/silence-news.ts",
    find: "if (errors !== errorsTold || sandbox || told.has(upstream)) return;",
    replace: "if (errors >= 0) return;",
    tests: ["test/tasks/video-vendor.test.ts"],
  },
  {
    name: "a failed task is charged",
    file: "gateway/src/tasks/task-rules.ts",
    find: 'case "FAILED":\n      return end(task, { state: report.status, report, used: undefined }, asked);',
    replace:
      'case "FAILED":\n      return end(task, { state: report.status, report, used: usedBySuccess(task, report) }, asked);',
    tests: ["test/tasks/video-tasks.test.ts"],
  },
  {
    name: "a task that its vendor has just cancelled is told as it was before",
    file: "gateway/src/tasks/task-desk.ts",
    find: "const { task, isClaimed } = await lookOnce(accountId, taskId, 0);",
    replace: "const { task, isClaimed } = await lookOnce(accountId, taskId, pollPauseMs);",
    tests: ["test/tasks/video-tasks.test.ts"],
  },
  {
    name: "a task that its vendor has just cancelled is told as somebody heard of it before",
    file: "gateway/src/tasks/task-desk.ts",
    find: "if (!isClaimed) return task;",
    replace: "if (!isClaimed || task) return task;",
    tests: ["test/tasks/video-vendor.test.ts"],
  },
  {
    name: "every client that polls asks the vendor",
    file: "gateway/src/tasks/task-desk.ts",
    find: "    const notAskedSinceMs = nowMs - pauseMs;",
    replace: "    const notAskedSinceMs = nowMs + pauseMs;",
    tests: ["test/tasks/task-verdicts.test.ts"],
  },
];
