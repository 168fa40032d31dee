import type { Doors } from "./doors/create-doors.ts";
import { answerPreflight } from "./doors/http/preflight.ts";
import { isApiPath } from "./platform/api-paths.ts";
import type { AnswerVisit, Door, DoorVisit } from "./platform/door.ts";
import { splitTarget, type HttpRequest } from "./platform/http-request.ts";
import type { InFlight } from "./platform/in-flight.ts";
import { describeError, type Log } from "./platform/log.ts";
import { CallRefused } from "./platform/refusals.ts";
import type { Answered, OwnedPage } from "./platform/reply.ts";
import type { Visitor } from "./platform/visitor.ts";

interface Parts {
  readonly doors: Doors;
  readonly newId: () => string;
  readonly inFlight: InFlight;
  readonly log: Log;
}

/** Leads each request to the door it is meant for: the first of these that has an answer to it. */
export function createFrontDoor({
  doors,
  newId,
  inFlight,
  log,
}: Parts): (request: HttpRequest, visitor: Visitor) => Promise<Answered> {
  const { linkPages, agents, calls, signIn, account, operator, site, sandboxLinks, website } = doors;
  // Link pages have paths of the API, and the agents' door may have one; neither asks for a key as that for calls does.
  const beforeCalls: readonly Door[] = [linkPages, agents];
  const afterCalls: readonly Door[] = [signIn, account, operator, site, sandboxLinks];
  const forTheRest: Entrance = { door: website, answer: website.answer };

  const serve = (request: HttpRequest, visitor: Visitor): Promise<Answered> => {
    const target = splitTarget(request.target);
    const { path } = target;
    const broken = brokenRequest(request);
    if (broken) return attend({ ...calls.refuse(broken, path), closes: true });
    const early = findEntrance(beforeCalls, request, path);
    if (!early && isApiPath(path)) {
      const preflight = answerPreflight(request, newId);
      return preflight ? attend(preflight) : calls.answer(request, target, visitor);
    }
    const entrance = early ?? findEntrance(afterCalls, request, path) ?? forTheRest;
    return attend(enter(entrance, { request: request.toRequest(), target, visitor, id: newId() }));
  };

  /** The door for calls counts them itself: whatever is done around every call is worth a promise less. */
  const attend = async (answer: Answered | Promise<Answered>): Promise<Answered> => {
    inFlight.calls++;
    try {
      return await answer;
    } finally {
      inFlight.calls--;
    }
  };

  const enter = async ({ door, answer }: Entrance, visit: DoorVisit): Promise<Answered> => {
    try {
      return named(await answer(visit), visit);
    } catch (error) {
      const refusal = error instanceof CallRefused ? error : tellBug(error, door, visit);
      return door.refuse
        ? named(door.refuse(refusal, visit), visit)
        : calls.refuse(refusal, visit.target.path, visit.id);
    }
  };

  const tellBug = (error: unknown, { name }: Entrance["door"], { id, target }: DoorVisit): CallRefused => {
    log.error(`${name} failed unexpectedly`, {
      request_id: id,
      path: target.path,
      ...describeError(error),
    });
    return new CallRefused("internal", "internal error");
  };

  return serve;
}

/** A door, and what answers at it. */
interface Entrance {
  readonly door: Pick<Door, "name" | "refuse">;
  readonly answer: AnswerVisit;
}

function findEntrance(doors: readonly Door[], request: HttpRequest, path: string): Entrance | undefined {
  for (const door of doors) {
    const answer = door.find(request, path);
    if (answer) return { door, answer };
  }
  return undefined;
}

/** Every answer has a name by which it can be asked about, also one that went wrong. */
function named<Page extends Response | OwnedPage>(answer: Page, { id }: DoorVisit): Page {
  const { headers } = answer instanceof Response ? answer : answer.page;
  if (!headers.has("x-request-id")) headers.set("x-request-id", id);
  return answer;
}

/** Browsers and proxies together send some thirty. */
const headersMax = 100;

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What no door should have to look at. */
function brokenRequest(request: HttpRequest): CallRefused | undefined {
  const { fault } = request;
  if (fault) return new CallRefused(fault.code, fault.message);
  if (!methods.has(request.method)) return new CallRefused("method_not_allowed", "this method is not served");
  if (request.headers.areMoreThan(headersMax)) {
    return new CallRefused("headers_too_large", `the request has more than ${headersMax} headers`);
  }
  return undefined;
}
