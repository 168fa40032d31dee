import type { JsonObject } from "../../../platform/json.ts";
import type { ImagePart } from "../chat.ts";
import { checkAddress } from "../address.ts";
import { Inexpressible } from "../dialect.ts";
import { given } from "./given.ts";
import { membersOf, textOf } from "./members.ts";
import type { Member } from "./members.ts";

export function readInlineData(blob: Member): ImagePart {
  const members = membersOf(blob);
  const mimeType = imageType(members.take("mimeType"));
  const data = textOf(members.take("data"));
  members.take("displayName");
  members.refuseRest();
  if (mimeType === undefined) throw new Inexpressible(`${blob.path}.mimeType`, "is required");
  if (data === undefined) throw new Inexpressible(`${blob.path}.data`, "is required");
  return { kind: "image", source: { mimeType, base64: plainBase64(data) } };
}

/** Google takes either alphabet of base64; others only the first. */
export const plainBase64 = (data: string): string => data.replaceAll("-", "+").replaceAll("_", "/");

export function readFileData(file: Member): ImagePart {
  const members = membersOf(file);
  const mimeType = imageType(members.take("mimeType"));
  const uri = members.take("fileUri");
  const url = textOf(uri);
  members.take("displayName");
  members.refuseRest();
  if (uri === undefined || url === undefined) throw new Inexpressible(`${file.path}.fileUri`, "is required");
  if (!isPublicAddress(url)) {
    throw new Inexpressible(uri.path, "is not an address that another vendor could fetch");
  }
  if (mimeType === undefined && isVideoSite(url)) throw new Inexpressible(uri.path, "is not an image");
  return { kind: "image", source: { url: checkAddress(url, uri.path) } };
}

function imageType(mimeType: Member | undefined): string | undefined {
  const type = textOf(mimeType);
  if (mimeType !== undefined && type?.startsWith("image/") !== true) {
    throw new Inexpressible(mimeType.path, "only images can be translated");
  }
  return type;
}

/** Buckets and Google's own file store open to Google alone. */
const isPublicAddress = (url: string): boolean =>
  /^https?:\/\//i.test(url) && !/^https?:\/\/generativelanguage\.googleapis\.com\//i.test(url);

/** Google reads an address without a type as a video when it is one of these. */
const isVideoSite = (url: string): boolean => /^https?:\/\/([a-z]+\.)?(youtube\.com|youtu\.be)\//i.test(url);

export const writeImage = ({ source }: Pick<ImagePart, "source">): JsonObject =>
  "url" in source
    ? { fileData: given({ fileUri: source.url, mimeType: typeByName(source.url) }) }
    : { inlineData: { mimeType: source.mimeType, data: source.base64 } };

const typesByEnding: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif",
};

function typeByName(url: string): string | undefined {
  const path = url.slice(0, url.search(/[?#]|$/));
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(typesByEnding, ending) ? typesByEnding[ending] : undefined;
}
