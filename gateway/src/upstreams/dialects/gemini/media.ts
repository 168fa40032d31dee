import { isVideoSite, typeByName } from "../../../operation/type-by-name.ts";
import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { FilePart, ImagePart, TextPart } from "../chat.ts";
import { checkAddress } from "../address.ts";
import { Inexpressible } from "../dialect.ts";
import { isDocument, pdf, readDocument } from "../files.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { membersOf, textOf } from "./members.ts";
import type { Member } from "./members.ts";

export function readInlineData(blob: Member): ImagePart | FilePart | TextPart {
  const members = membersOf(blob);
  const mimeType = readableType(members.take("mimeType"));
  const data = textOf(members.take("data"));
  const name = textOf(members.take("displayName"));
  members.refuseRest();
  if (mimeType === undefined) throw new Inexpressible(`${blob.path}.mimeType`, "is required");
  if (data === undefined) throw new Inexpressible(`${blob.path}.data`, "is required");
  const base64 = plainBase64(data);
  if (isDocument(mimeType)) return readDocument({ mimeType, base64, name }, blob.path);
  return { kind: "image", source: { mimeType, base64 } };
}

/** Google takes either alphabet of base64; others only the first. To replace letter by letter takes seconds for megabytes. */
export const plainBase64 = (data: string): string =>
  /[-_]/.test(data) ? Buffer.from(data, "base64").toString("base64") : data;

export function readFileData(file: Member): ImagePart | FilePart {
  const members = membersOf(file);
  const mimeType = readableType(members.take("mimeType"));
  const uri = members.take("fileUri");
  const url = textOf(uri);
  const name = textOf(members.take("displayName"));
  members.refuseRest();
  if (uri === undefined || url === undefined) throw new Inexpressible(`${file.path}.fileUri`, "is required");
  if (!isPublicAddress(url)) {
    throw new Inexpressible(uri.path, "is not an address that another vendor could fetch");
  }
  if (mimeType === undefined && isVideoSite(url)) throw new Inexpressible(uri.path, "is not an image");
  const source = { url: checkAddress(url, uri.path) };
  if ((mimeType ?? typeByName(url)) === pdf) return { kind: "file", source, name };
  if (mimeType !== undefined && isDocument(mimeType)) {
    throw new Inexpressible(uri.path, "a text at an address cannot be translated; write it out");
  }
  return { kind: "image", source };
}

/**
 * How closely an image is looked at, for all of them or for one. Other vendors look at images in full: to be told to look less
 * closely would be ignored.
 */
export function checkResolution(resolution: Member | undefined): void {
  if (resolution === undefined) return;
  const level = isJsonObject(resolution.value) ? levelOf(resolution) : resolution;
  if (level === undefined || /_(UNSPECIFIED|HIGH)$/.test(textOf(level) ?? "")) return;
  throw new Inexpressible(level.path, "only a high resolution can be translated");
}

function levelOf(resolution: Member): Member | undefined {
  const members = membersOf(resolution);
  const level = members.take("level");
  members.refuseRest();
  return level;
}

function readableType(mimeType: Member | undefined): string | undefined {
  const type = textOf(mimeType)?.toLowerCase();
  if (mimeType === undefined || type === undefined) return undefined;
  if (type.startsWith("image/") || isDocument(type)) return type;
  throw new Inexpressible(mimeType.path, "only images, PDF and text can be translated");
}

/** Buckets and Google's own file store open to Google alone. */
const isPublicAddress = (url: string): boolean =>
  /^https?:\/\//i.test(url) && !/^https?:\/\/generativelanguage\.googleapis\.com\//i.test(url);

export const writeFile = ({ source }: FilePart): JsonObject =>
  "url" in source
    ? { fileData: { fileUri: source.url, mimeType: pdf } }
    : { inlineData: { mimeType: source.mimeType, data: source.base64 } };

/** Without a type, Google reads whatever lies there: the call is held for that. */
export const writeImage = ({ source }: Pick<ImagePart, "source">): JsonObject =>
  "url" in source
    ? { fileData: withoutUndefined({ fileUri: source.url, mimeType: typeByName(source.url) }) }
    : { inlineData: { mimeType: source.mimeType, data: source.base64 } };
