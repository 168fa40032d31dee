import type { Log } from "../../platform/log.ts";

/** What answers show about models that the operator should know, because prices, names or addresses may not fit; each told once. */
export interface ModelNews {
  /** The name that an answer gives its model: a router may answer with a dearer model than the call pays for. */
  readonly noteAnswer: (upstream: string, asked: string, answered: string) => void;
  /** An upstream said that there is no such thing: not the model, or nothing at all at its address. */
  readonly noteNotFound: (upstream: string, asked: string) => void;
  readonly noteUnpricedAudio: (upstream: string, model: string) => void;
  readonly noteUnpricedCacheWrite: (upstream: string, model: string) => void;
}

/** More than any configuration has. An upstream that makes up a name for every answer is reported once, and then no more. */
const keptMax = 1_000;

export function createModelNews(log: Log): ModelNews {
  const looked = new Set<string>();
  const told = new Set<string>();
  const tellOnce = (what: string, members: { upstream: string; model: string; answered?: string }): void => {
    const news = `${what}\n${members.upstream}\n${members.model}`;
    if (told.has(news) || told.size >= keptMax) return;
    told.add(news);
    log.warn(what, members);
  };

  return {
    noteAnswer: (upstream, asked, answered) => {
      if (asked === answered) return;
      const pair = `${upstream}\n${asked}\n${answered}`;
      if (looked.has(pair) || looked.size >= keptMax) return;
      looked.add(pair);
      if (bareName(asked) === bareName(answered)) return;
      tellOnce(otherModel, { upstream, model: asked, answered: answered.slice(0, nameCharactersMax) });
    },
    noteNotFound: (upstream, asked) => tellOnce(notFound, { upstream, model: asked }),
    noteUnpricedAudio: (upstream, model) => tellOnce(unpricedAudio, { upstream, model }),
    noteUnpricedCacheWrite: (upstream, model) => tellOnce(unpricedCacheWrite, { upstream, model }),
  };
}

const otherModel = "an answer is of another model than was asked for; it is charged as the one asked for";
const notFound =
  "a call for a model was answered 404; does the upstream have it under this name, and is its address right?";
const unpricedAudio = "audio was used that has no price; it is charged as text until input_audio is written";
const unpricedCacheWrite =
  "a cache was written to, which has no price; it is charged as input until cache_write is written, and vendors may take more";

/** The answer's name is the upstream's word, of any length. */
const nameCharactersMax = 200;

/** Without who made it, and without its date or version. */
const bareName = (name: string): string =>
  name
    .slice(0, nameCharactersMax)
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/[-@:](?:\d{3}[\d-]*|v\d+(?:[:.]\d+)*|latest|free|preview(?:-[\w-]*)?|exp(?:-[\w-]*)?)$/, "");
