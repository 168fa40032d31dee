/** What the body of a conversation holds besides its text, added up while it is read. */
export interface Findings {
  /** The body's length does not bound what is read: something lies elsewhere, or a file may have any number of pages. */
  unbounded: boolean;

  /** How many images, recordings, films and files there are, in the body or elsewhere. */
  media: number;
  /** How many of them are certainly images. */
  images: number;
  /** How many bytes of the body are media and not text. */
  mediaBytes: number;
  /** How many things are shown in place of words: the media, and files of plain text. */
  shown: number;

  /** The member with a recording in it; undefined where nothing is certain to be one. */
  recordedIn: string | undefined;
  /** Some of the input may have sound: a recording, a film, or something that only the vendor can see. */
  mayBeHeard: boolean;
  /** The member that asks for a spoken answer. */
  spokenBy: string | undefined;

  /** There are tools. Some vendors then add a text of their own about tools in general. */
  hasTools: boolean;
  /** How many tools the caller runs, but the vendor explains to the model in a text of its own. */
  explainedTools: number;
  /** How often a tool of the caller's may be told in more words than it was written: with a schema, or the name of its namespace. */
  rewordedTools: number;
  /** A tool that the vendor runs: it is billed by use, or has the model read on as often as the vendor likes. */
  hostedTool: HostedTool | undefined;

  /** The vendor may first sum the conversation up, and bills that beside the answer. */
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
  /** A name may differ from one of ours only in the case of its letters, so each is compared. */
  readonly comparesNames: boolean;
  /** One of the vendors that may be asked fetches an image's address itself, and reads whatever it finds there. */
  readonly goesByAddress: boolean;
  /** Somebody who may be asked speaks as the caller does, and may read or run things of theirs that do not stand in the body. */
  readonly mayBeNative: boolean;
  /** Somebody who may be asked does not, and is told in other words. Where both may be asked, the hold has to do for either. */
  readonly mayBeTranslated: boolean;
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
  rewordedTools: 0,
  hostedTool: undefined,
  isSummedUp: false,
});

/** What only the vendor can see may be of any length, and may be a recording. */
export function addUnseen(found: Findings): void {
  found.unbounded = true;
  found.mayBeHeard = true;
}
