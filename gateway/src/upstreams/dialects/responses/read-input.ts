// The items of a response's input: what was said, thought, called and answered, each by itself. Elsewhere all that a model did
// before it was answered is one message.

import type { JsonObject } from "../../../platform/json.ts";
import { checkCallId } from "../call-id.ts";
import type {
  AddedInstructions,
  ChatMessage,
  ChatPart,
  ChatRequest,
  ImagePart,
  TextPart,
  ToolCallPart,
} from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { readList, readText, requireObject, requireText } from "../openai/members.ts";
import { ArgumentsRoom } from "../openai/tool-calls.ts";
import { readContent, readTextContent } from "./read-content.ts";
import { unseal } from "./sealed-thoughts.ts";
import { writeTextArgument } from "./text-tools.ts";
import { joinedName, namesIn } from "./tool-names.ts";
import { foundBy, isRunByCaller, searchType, writeSearched } from "./tool-search.ts";

/** Instructions before the first word are the system prompt; later ones keep their place. */
export function readConversation({
  instructions,
  input,
}: JsonObject): Pick<ChatRequest, "system" | "messages"> {
  const conversation = new Conversation();
  conversation.instruct(readTextContent(readText(instructions, "instructions"), "instructions"));
  if (typeof input === "string") conversation.hear(readContent(input, "input"));
  else
    for (const [at, item] of (readList(input, "input") ?? []).entries())
      conversation.read(requireObject(item, `input[${at}]`), `input[${at}]`);
  return conversation;
}

class Conversation implements Pick<ChatRequest, "system" | "messages"> {
  readonly system: TextPart[] = [];
  readonly messages: (ChatMessage | AddedInstructions)[] = [];
  readonly #room = new ArgumentsRoom();
  /** What the model has done since somebody else spoke. */
  #turn: ChatPart[] | undefined;
  /** What the next call was signed with. */
  #signature: string | undefined;

  read(item: JsonObject, field: string): void {
    const { type = "message" } = item;
    switch (type) {
      case "message":
        return this.#readMessage(item, field);
      case "reasoning":
        return this.#readThought(item, field);
      case "function_call":
        return this.#act(this.#readCall(item, this.#readArguments(item, field), field));
      case "custom_tool_call": {
        const text = requireText(item["input"], `${field}.input`);
        return this.#act(this.#readCall(item, writeTextArgument(text), field));
      }
      case "function_call_output":
      case "custom_tool_call_output":
        return this.hear([readResult(item, field)]);
      case "tool_search_call":
        return isRunByCaller(item)
          ? this.#act(this.#readCall({ ...item, name: searchType }, this.#readSearched(item, field), field))
          : undefined;
      case "tool_search_output":
        return isRunByCaller(item)
          ? this.hear([foundBy(readCallId(item, field), namesIn(item["tools"]))])
          : undefined;
      case "image_generation_call":
        return this.#act(readDrawing(item, field));
      // Which tools there are, and what a search on OpenAI's side was for: nothing that was said.
      case "additional_tools":
      case "web_search_call":
        return;
      case "item_reference":
        throw new Inexpressible(
          field,
          "only OpenAI keeps items of a response; with store set to false, clients send the items themselves",
        );
      default:
        throw new Inexpressible(`${field}.type`, `${JSON.stringify(type)} exists with OpenAI's models only`);
    }
  }

  instruct(parts: readonly TextPart[]): void {
    if (this.messages.length === 0) this.system.push(...parts);
    else if (parts.length > 0) this.#say({ role: "system", parts });
  }

  hear(parts: readonly ChatPart[]): void {
    this.#say({ role: "user", parts });
  }

  #say(message: ChatMessage | AddedInstructions): void {
    this.messages.push(message);
    this.#turn = undefined;
  }

  #act(...parts: readonly ChatPart[]): void {
    if (parts.length === 0) return;
    if (this.#turn === undefined) {
      const turn: ChatPart[] = [];
      this.messages.push({ role: "assistant", parts: turn });
      this.#turn = turn;
    }
    this.#turn.push(...parts);
  }

  #readMessage({ role, content }: JsonObject, field: string): void {
    const place = `${field}.content`;
    switch (role) {
      case "system":
      case "developer":
        return this.instruct(readTextContent(content, place));
      case "user":
        return this.hear(readContent(content, place));
      case "assistant":
        return this.#act(...readTextContent(content, place));
      default:
        throw new Inexpressible(`${field}.role`, `${JSON.stringify(role)} cannot be translated`);
    }
  }

  /** What was not sealed here only OpenAI can read: no other model is told of it. */
  #readThought({ encrypted_content: sealed }: JsonObject, field: string): void {
    const thought = unseal(readText(sealed, `${field}.encrypted_content`) ?? "");
    if (thought?.kind === "for next call") this.#signature = thought.signature;
    else if (thought !== undefined) this.#act(thought);
  }

  #readArguments(item: JsonObject, field: string): string {
    const place = `${field}.arguments`;
    return this.#room.take(requireText(item["arguments"], place), place);
  }

  #readSearched(item: JsonObject, field: string): string {
    return this.#room.take(writeSearched(item["arguments"]), `${field}.arguments`);
  }

  #readCall(item: JsonObject, args: string, field: string): ToolCallPart {
    const signature = this.#signature;
    this.#signature = undefined;
    const namespace = readText(item["namespace"], `${field}.namespace`);
    return {
      kind: "tool_call",
      id: readCallId(item, field),
      name: joinedName(requireText(item["name"], `${field}.name`), namespace),
      arguments: args,
      ...(signature === undefined ? {} : { signature }),
    };
  }
}

const readResult = (item: JsonObject, field: string): ChatPart => ({
  kind: "tool_result",
  callId: readCallId(item, field),
  name: undefined,
  content: readContent(item["output"], `${field}.output`),
  isError: false,
});

const readCallId = ({ call_id: id }: JsonObject, field: string): string =>
  checkCallId(requireText(id, `${field}.call_id`), `${field}.call_id`);

/** What our own answers show that a model drew. */
function readDrawing(item: JsonObject, field: string): ImagePart {
  const base64 = readText(item["result"], `${field}.result`);
  if (base64 === undefined) throw new Inexpressible(field, "only OpenAI has kept what was drawn");
  const format = readText(item["output_format"], `${field}.output_format`) ?? "png";
  return { kind: "image", source: { mimeType: `image/${format}`, base64 } };
}
