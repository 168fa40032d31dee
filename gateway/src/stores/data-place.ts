import type { SeenData } from "../store/seen-data.ts";
import type { Store } from "../store/store.ts";
import type { Recovery } from "../ledger/ledger.ts";

/** Where everything durable of an installation is kept, and what can be done about it besides using it. */
export interface DataPlace {
  /** For people, without a password. */
  readonly name: string;
  /** Whether there is any data, where commands would look for it. */
  readonly hasData: () => Promise<boolean>;
  /** Looks at the data and changes nothing; undefined while there is none. Throws why it cannot be used. */
  readonly look: () => Promise<SeenData | undefined>;
  /** Throws where whoever began to serve would find the disk too full for new calls. */
  readonly checkRoom: () => void;
  /** In words that name the data and say what to do, where an error is about what became of it; any other as it is. */
  readonly explain: (error: unknown) => unknown;
  /** For commands that people type: they would rather wait for a busy server than type them again. */
  readonly openForPeople: (events: OpeningEvents) => Promise<Store>;
  /** For the one who serves; `leave` is called when the store is closed. */
  readonly openForServing: (events: ServingEvents) => Promise<{ store: Store; leave: () => void }>;
  readonly backUp: (file: string) => Promise<void>;
  readonly backUpInto: (
    folder: string,
    keep: number,
  ) => Promise<{ readonly file: string; readonly deleted: readonly string[] }>;
  /** Tells where the data that was there before is kept. */
  readonly restore: (file: string, options: RestoreOptions) => Promise<string | undefined>;
}

interface RestoreOptions {
  /** The fingerprint of the installation's secret, if it has one. */
  readonly fingerprint: string | undefined;
  /** Also in the place of data whose books were moved elsewhere, and may be sold from there. */
  readonly overMoved: boolean;
}

/** What a store tells whoever opens it. */
export interface OpeningEvents {
  /** Data of an earlier version now is this program's, and the earlier version cannot use it any more. */
  readonly onBroughtForward: (schemas: { readonly from: number; readonly to: number }) => void;
}

/** What a store tells the one who serves. */
interface ServingEvents extends OpeningEvents {
  readonly onCommit: (writes: number) => void;
  /** The disk cannot be trusted any more: nobody knows what is on it. */
  readonly onBrokenDisk: (error: unknown) => void;
  /** Something that nobody waits for could not be written; `what` says in the same words each time what it was. */
  readonly onLostNote: (what: string, error: unknown) => void;
  /** What another node left when it died was ended by this one. */
  readonly onRecovered: (recovery: Recovery) => void;
  /** How many nodes serve, this one among them, where there can be several; told again and again. */
  readonly onNodesSeen: (nodes: number) => void;
}

/** Told once, when it happens: from then on only a backup leads back to the earlier version. */
export const broughtForward = ({ from, to }: Parameters<OpeningEvents["onBroughtForward"]>[0]): string =>
  `the data was brought forward from schema ${from} to ${to}`;

/** Without this, a command in the wrong folder would succeed on nothing, and a nightly backup could be empty for months. */
export async function checkData({ name, hasData }: Pick<DataPlace, "name" | "hasData">): Promise<void> {
  if (await hasData()) return;
  throw new Error(
    `There is no data at ${name}. ` +
      "Run this where the server runs, or set TOLLGATE_DATA or TOLLGATE_STORE to where its data is.",
  );
}
