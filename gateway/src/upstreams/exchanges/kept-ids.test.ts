import { expect, test } from "bun:test";
import type { Dispatch } from "../../operation/forwarder.ts";
import { KeptIds, keptIdOf, keptIdsIn } from "./kept-ids.ts";

const dispatchOf = (body: object): Dispatch => ({ input: { body } }) as Dispatch;
const response = { id: "resp_1", output: [{ id: "rs_1" }, { id: "msg_1" }, { type: "odd" }, "odd"] };

test("a response is kept by its id and those of its items, unless either side says that it is not", () => {
  for (const body of [{}, { store: true }, { store: null }])
    expect(keptIdsIn(response, dispatchOf(body))).toEqual(["resp_1", "rs_1", "msg_1"]);
  expect(keptIdsIn(response, dispatchOf({ store: false }))).toEqual([]);
  // As a vendor says it whose customer has agreed that nothing is kept.
  expect(keptIdsIn({ ...response, store: false }, dispatchOf({}))).toEqual([]);
  expect(keptIdsIn("odd", dispatchOf({}))).toEqual([]);
});

test("what is told again is kept once, and no vendor fills the books", () => {
  const ids = new KeptIds(dispatchOf({}));
  ids.addResponse({ id: "resp_1", output: [] });
  ids.addItem({ id: "msg_1" });
  ids.addItem({ id: "m".repeat(4_097) });
  ids.addResponse(response);
  expect(ids.all).toEqual(["resp_1", "msg_1", "rs_1"]);
  // As long as those who pass responses on make theirs.
  const packed = `resp_${"x".repeat(2_000)}`;
  ids.addItem({ id: packed });
  expect(ids.all).toContain(packed);
  for (let at = 0; at < 2_000; at++) ids.addItem({ id: `item_${at}` });
  expect(ids.all.length).toBe(1_000);
});

test("a thread is kept by the id of its answer, as a whole one or the first event of a stream says it", () => {
  expect(keptIdOf({ id: "msg_1", type: "message" })).toEqual(["msg_1"]);
  expect(keptIdOf({ type: "message_start", message: { id: "msg_1" } })).toEqual(["msg_1"]);
  expect(keptIdOf({ id: "m".repeat(4_096) })).toHaveLength(1);
  for (const odd of ["odd", {}, { id: 1 }, { id: "m".repeat(4_097) }]) expect(keptIdOf(odd)).toEqual([]);
});
