import type { Log } from "../platform/log.ts";

/** Notes which model an answer says it is of; where that is not the one that was asked for, the operator hears of it. */
export interface OtherModels {
  readonly note: (upstream: string, asked: string, answered: string) => void;
}

/** More than any configuration has; an upstream that makes up a name for every answer is told of once and then left alone. */
const keptMax = 1_000;

/** A router may answer with a dearer model than the one whose price the call pays. It is told once for each upstream and model. */
export function createOtherModels(log: Log): OtherModels {
  const looked = new Set<string>();
  const told = new Set<string>();
  return {
    note: (upstream, asked, answered) => {
      if (asked === answered) return;
      const pair = `${upstream}\n${asked}\n${answered}`;
      if (looked.has(pair) || looked.size >= keptMax) return;
      looked.add(pair);
      const model = `${upstream}\n${asked}`;
      if (told.has(model) || bareName(asked) === bareName(answered)) return;
      told.add(model);
      const members = { upstream, asked, answered: answered.slice(0, nameCharactersMax) };
      log.warn(
        "an answer is of another model than was asked for; it is charged as the one asked for",
        members,
      );
    },
  };
}

/** The answer's name is the upstream's word, of any length. */
const nameCharactersMax = 200;

/** Without who made it, and without its date or version. */
const bareName = (name: string): string =>
  name
    .slice(0, nameCharactersMax)
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/[-@:](?:\d{3}[\d-]*|v\d+(?:[:.]\d+)*|latest|free|preview(?:-[\w-]*)?|exp(?:-[\w-]*)?)$/, "");
