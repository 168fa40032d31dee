/** A vendor that says of every task that it is running, and keeps count of who was asked about when. */
export interface TaskVendor {
  readonly url: string;
  /** How often it was asked about each task. */
  readonly asked: ReadonlyMap<string, number>;
  readonly askedAtMs: readonly number[];
  readonly close: () => Promise<void>;
}

export function openTaskVendor(): TaskVendor {
  const asked = new Map<string, number>();
  const askedAtMs: number[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const id = new URL(request.url).pathname.slice("/tasks/".length);
      asked.set(id, (asked.get(id) ?? 0) + 1);
      askedAtMs.push(performance.now());
      return Response.json({ request_id: "r", output: { task_id: id, task_status: "RUNNING" } });
    },
  });
  return { url: server.url.origin, asked, askedAtMs, close: () => server.stop(true) };
}
