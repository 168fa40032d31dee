import { expect, test } from "bun:test";
import type { ImageContent } from "@modelcontextprotocol/server";
import { expectInProportion } from "../../../platform/test-in-proportion.ts";
import { takeImages } from "./result-images.ts";

const png = "iVBORw0KGgo=";
const large = `iVBORw0KGgoA${"A".repeat(12 * 1024 * 1024)}`;

test("images beyond what one message may show are left out, and a note says so", () => {
  const images: ImageContent[] = [];
  const { result, leftOut } = takeImages(
    { data: [large, large, large, png].map((b64_json) => ({ b64_json })) },
    images,
  );
  expect(leftOut).toBe(true);
  expect(images.map(({ data }) => data.length)).toEqual([large.length, large.length, png.length]);
  const notes = (result["data"] as { b64_json: string }[]).map(({ b64_json }) => b64_json);
  expect(notes).toEqual([
    "(image 1 of this answer's content)",
    "(image 2 of this answer's content)",
    "(left out: the images of one answer may have 32 MiB together)",
    "(image 3 of this answer's content)",
  ]);
});

test("each kind is named, and what is no image stays where it is", () => {
  const images: ImageContent[] = [];
  const data = ["/9j/AAAA", "UklGRAAA", "R0lGODlh", png, "AAAA", "/9j/AAA", "/9j/ A==", 7, undefined];
  const { result } = takeImages({ data: data.map((b64_json) => ({ b64_json })), more: 1 }, images);
  expect(images.map(({ mimeType }) => mimeType)).toEqual([
    "image/jpeg",
    "image/webp",
    "image/gif",
    "image/png",
  ]);
  expect((result["data"] as { b64_json: unknown }[]).slice(4).map(({ b64_json }) => b64_json)).toEqual(
    data.slice(4),
  );
  for (const other of [{}, { data: "x" }, { data: ["/9j/AAAA", null] }]) {
    expect(takeImages(other, [])).toEqual({ result: other, leftOut: false });
  }
});

test("images are taken from everywhere that models leave what they drew, and from nowhere else", () => {
  const address = `data:image/png;base64,${png}`;
  const answer = (shown: readonly string[]) => ({
    data: { b64_json: shown[0] },
    candidates: [{ content: { parts: [{ text: address }, { inlineData: { data: shown[1] } }] } }],
    output: [{ type: "message", content: [{ text: address }] }, { result: shown[2] }],
    choices: [{ message: { content: address, images: [{ image_url: { url: shown[3] } }] } }],
    content: [
      { text: `Two: ![image](${shown[4]}) ![image](${shown[5]})` },
      {
        text: `<img src="${address}">, ![image](https://example.com/a.png), ![image](${address.slice(0, -1)})`,
      },
    ],
  });
  const images: ImageContent[] = [];
  const { result, leftOut } = takeImages(answer([png, png, png, address, address, address]), images);
  expect(leftOut).toBe(false);
  expect(images).toEqual(
    Array.from({ length: 6 }, () => ({ type: "image", data: png, mimeType: "image/png" })),
  );
  expect(result).toEqual(answer([1, 2, 3, 4, 5, 6].map((n) => `(image ${n} of this answer's content)`)));
});

test("four times as many images take about four times as long", () => {
  expectInProportion((size) => {
    const data = Array.from({ length: size }, () => ({ b64_json: "/9j/" }));
    return () => expect(takeImages({ data }, []).leftOut).toBe(false);
  }, 8000);
});

test("a text that only begins images takes time by its length", () => {
  for (const beginning of [
    "![image](data:",
    "![image](data:;base64,",
    "![image](data:image/png;base64,iVBO",
  ]) {
    expectInProportion((size) => {
      const result = { content: [{ text: beginning.repeat(size) }] };
      return () => expect(takeImages(result, []).result).toEqual(result);
    }, 8000);
  }
});
