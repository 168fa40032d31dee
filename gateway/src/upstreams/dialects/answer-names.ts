// What a vendor calls its answer, and the model of it, is said again in every event that is made of the answer, and ids of
// calls are made of it: were these names of any length, an answer would take as long as its length times theirs.

/** Several times what any vendor gives. */
export const nameCharactersMax = 200;

/** A longer id counts as none: then ours stands in its place. */
export const readAnswerId = (id: string | undefined): string | undefined =>
  id !== undefined && id.length <= nameCharactersMax ? id : undefined;

/** How a longer one begins is enough to tell which model it is. */
export const readAnswerModel = (model: string | undefined): string | undefined =>
  model?.slice(0, nameCharactersMax);
