import { expect, test } from "bun:test";
import { direct } from "./contestants/direct.ts";
import { tollgate } from "./contestants/tollgate.ts";
import { readOptions } from "./options.ts";
import { chatStudy } from "./studies/chat.ts";
import { rerankStudy } from "./studies/endpoints.ts";

const there = { studies: [chatStudy, rerankStudy], contestants: [direct, tollgate] };
const read = (...words: string[]) => readOptions(words, there);

test("without words everything is measured and kept, with any word it is not kept", () => {
  expect(read()).toMatchObject({ isWhole: true, help: false, studies: there.studies });
  expect(read().settings.contestants).toEqual(there.contestants);
  expect(read("--rounds", "5").isWhole).toBe(false);
  expect(read("--short")).toMatchObject({ isWhole: false, studies: [chatStudy] });
  expect(read("--help").help).toBe(true);
});

test("a name that nobody has is refused, and the names there are told", () => {
  expect(() => read("--contestants", "tollgate")).toThrow(
    "--contestants: nothing is called tollgate. There are direct, Tollgate.",
  );
  expect(() => read("--only", "chat,chats")).toThrow("nothing is called chats");
  expect(read("--contestants", "Tollgate").settings.contestants).toEqual([tollgate]);
});

test("what is no number is refused", () => {
  for (const wrong of ["x", "0", "-1", "1.5", "", "3,"])
    expect(() => read(`--rounds=${wrong}`)).toThrow("--rounds takes whole numbers above zero");
  expect(() => read("--round", "3")).toThrow("--round");
  expect(read("--warm-up", "2,3").settings.warmUp).toEqual({ secondsMin: 2, secondsMax: 3 });
});
