/** What was found in the body of a conversation besides its text, added up while it is read. */
export interface Findings {
  /** The model will read tokens that the body's length does not bound: what lies elsewhere, a file of any number of pages. */
  unbounded: boolean;

  /** Images, recordings, films and files, in the body or elsewhere. */
  media: number;
  /** Those of them that are certainly images. */
  images: number;
  /** Bytes of the body that are media and not text. */
  mediaBytes: number;
  /** The media, and files of plain text: everything that is shown in place of words. */
  shown: number;

  /** The member that has a recording in it; undefined where none certainly has. */
  recordedIn: string | undefined;
  /** Some of the input may be heard: a recording, a film, or something that cannot be seen from here. */
  mayBeHeard: boolean;
  /** The member that asks for a spoken answer. */
  spokenBy: string | undefined;

  /** There are tools. Some vendors then tell the model about tools in general, in words of their own. */
  hasTools: boolean;
  /** Tools that the caller runs, but that the vendor explains to the model in words of its own. */
  explainedTools: number;
  /** A tool which the vendor runs: it bills by use, or reads on as often as it likes. */
  hostedTool: HostedTool | undefined;

  /** The vendor may first sum up what was said, and bills that beside the answer. */
  isSummedUp: boolean;
}

export interface HostedTool {
  /** The member that asks for it. */
  readonly field: string;
  /** As the caller wrote it, where the member does not say which tool it is. */
  readonly type?: string;
}

/** How a body has to be read, which differs by dialect and by model. */
export interface ReadingOptions {
  /** Some names may differ from a deciding one in the case of their letters alone, so each of them is compared. */
  readonly comparesNames: boolean;
  /** One of the vendors that may be asked fetches an image's address itself, and reads whatever it finds there. */
  readonly goesByAddress: boolean;
}

export const nothingFound = (): Findings => ({
  unbounded: false,
  media: 0,
  images: 0,
  mediaBytes: 0,
  shown: 0,
  recordedIn: undefined,
  mayBeHeard: false,
  spokenBy: undefined,
  hasTools: false,
  explainedTools: 0,
  hostedTool: undefined,
  isSummedUp: false,
});

/** What only the vendor can see may be of any length, and may be a recording. */
export function addUnseen(found: Findings): void {
  found.unbounded = true;
  found.mayBeHeard = true;
}
