import { beforeAll, describe, expect, test } from "bun:test";
import { at, createTestSandbox } from "../../test-sandbox.ts";

const hourMs = 3_600_000;

/** A sandbox with one finished video. */
async function open() {
  const sandbox = createTestSandbox();
  const made = await sandbox.ask("POST", "/dashscope/services/aigc/video-generation/video-synthesis", {
    body: { model: "wan2.6-t2v", input: { prompt: "[queued 0] [running 0]" } },
    headers: { authorization: "Bearer sandbox", "x-dashscope-async": "enable" },
  });
  const id = String(at(made.json, "output", "task_id"));
  const { json } = await sandbox.ask("GET", `/dashscope/tasks/${id}`);
  const link = new URL(String(at(json, "output", "video_url")));
  const follow = (range?: string, url = link) =>
    sandbox.fetch(
      new Request(`http://sandbox.test${url.pathname.replace("/s/", "/public/")}${url.search}`, {
        headers: range === undefined ? {} : { range },
      }),
    );
  return { ...sandbox, link, follow };
}

let sample: Uint8Array;
beforeAll(async () => {
  sample = await Bun.file(`${import.meta.dir}/sample.mp4`).bytes();
});

test("the video is a small MP4 file with its index in front, so that it plays as it comes", () => {
  const boxes: string[] = [];
  const view = new DataView(sample.buffer);
  for (let place = 0; place < sample.length; place += view.getUint32(place)) {
    boxes.push(Buffer.from(sample.subarray(place + 4, place + 8)).toString("latin1"));
  }
  expect(boxes.filter((box) => box !== "free")).toEqual(["ftyp", "moov", "mdat"]);
  expect(sample.length).toBeLessThan(60_000);
});

describe("a link to a video", () => {
  test("gives the whole file, without a key and outside the book", async () => {
    const { follow, book } = await open();
    const entries = book.read().count;
    const response = await follow();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "video/mp4"]);
    expect(response.headers.get("content-length")).toBe(`${sample.length}`);
    expect(response.headers.get("accept-ranges")).toBe("bytes");
    expect(await response.bytes()).toEqual(sample);
    expect(book.read().count).toBe(entries);
  });

  test("gives any part of it, as players ask", async () => {
    const { follow } = await open();
    const { length } = sample;
    for (const [range, status, contentRange, from, to] of [
      ["bytes=0-", 206, `bytes 0-${length - 1}/${length}`, 0, length],
      ["bytes=0-0", 206, `bytes 0-0/${length}`, 0, 1],
      ["bytes=100-199", 206, `bytes 100-199/${length}`, 100, 200],
      ["bytes=-10", 206, `bytes ${length - 10}-${length - 1}/${length}`, length - 10, length],
      ["bytes=-99999", 206, `bytes 0-${length - 1}/${length}`, 0, length],
      ["bytes=10-99999", 206, `bytes 10-${length - 1}/${length}`, 10, length],
      ["bytes=99999-", 416, `bytes */${length}`, 0, 0],
      ["bytes=-0", 416, `bytes */${length}`, 0, 0],
      ["bytes=9-1", 200, null, 0, length],
      ["bytes=0-1,5-6", 200, null, 0, length],
      ["bytes=-", 200, null, 0, length],
      ["lines=1-2", 200, null, 0, length],
    ] as const) {
      const response = await follow(range);
      expect([range, response.status, response.headers.get("content-range")]).toEqual([
        range,
        status,
        contentRange,
      ]);
      expect(response.headers.get("content-length")).toBe(`${to - from}`);
      expect(await response.bytes()).toEqual(sample.subarray(from, to));
    }
  });

  test("works for some hours, then is denied as an object store denies it", async () => {
    const { follow, clock } = await open();
    clock.ms += 3 * hourMs - 1;
    expect((await follow()).status).toBe(200);
    clock.ms += 1;
    const response = await follow();
    expect([response.status, response.headers.get("content-type")]).toEqual([403, "application/xml"]);
    const text = await response.text();
    expect(text).toContain("<Code>AccessDenied</Code>");
    expect(text).toContain("<Message>Request has expired.</Message>");
  });

  test("cannot be made, moved or prolonged without the secret", async () => {
    const { follow, link } = await open();
    const denials = async (change: (url: URL) => void) => {
      const url = new URL(link);
      change(url);
      const response = await follow(undefined, url);
      return [response.status, /<Code>(\w+)/.exec(await response.text())?.[1]];
    };
    const later = `${Number(link.searchParams.get("Expires")) + 1}`;
    for (const change of [
      (url: URL) => url.searchParams.set("Expires", later),
      (url: URL) => url.searchParams.set("Signature", "00"),
      (url: URL) => url.searchParams.set("Signature", "0".repeat(64)),
      (url: URL) => (url.pathname = "/s/video/another.mp4"),
    ]) {
      expect(await denials(change)).toEqual([403, "SignatureDoesNotMatch"]);
    }
    for (const name of ["Expires", "Signature"]) {
      expect(await denials((url) => url.searchParams.delete(name))).toEqual([403, "AccessDenied"]);
    }
  });
});
