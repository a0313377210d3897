/**
 * The kit over HTTP, for tests in every language: `/wherry/testing/…` on the local door. Requests are bounded like all
 * others; a bad one gets a Status and changes nothing.
 */
import { badRequest, methodNotAllowed, StatusError } from '../api/errors/errors.ts';
import { isJsonObject, type JsonObject } from '../api/text/object.ts';
import { LocalDoor } from '../server/doors/local-door.ts';
import { answerText } from '../server/http/answer.ts';
import { readBody } from '../server/http/body.ts';
import type { RequestContext } from '../server/http/context.ts';
import { LimitKeeper } from '../server/http/limits.ts';
import type { Kit } from './kit.ts';
import { testingDocument } from './testing-document.ts';
import { type TestingCall, testingRoutes } from './testing-routes.ts';

const root = '/wherry/testing';
const keeper = new LimitKeeper({ bodyBytesMax: 1024 * 1024 });

class TestingPages {
  readonly documents: Readonly<Record<string, object>> = { 'wherry/testing': testingDocument(root) };

  constructor(private readonly kit: Kit) {}

  /** Answers requests for paths of the kit; false for other paths, and at other doors. */
  async answer(context: RequestContext): Promise<boolean> {
    const { path, method } = context.info;
    if (path !== root && !path.startsWith(`${root}/`)) return false;
    if (!(context.door instanceof LocalDoor)) return false;
    const segments = path
      .slice(root.length + 1)
      .split('/')
      .filter(Boolean);
    const fitting = testingRoutes.filter((route) => route.parameters(segments) !== undefined);
    if (fitting.length === 0) return false;
    const route = fitting.find((one) => one.method === method);
    if (!route) throw methodNotAllowed();
    const call: TestingCall = {
      kit: this.kit,
      parameters: route.parameters(segments)!,
      query: context.query,
      body: await bodyOf(context),
    };
    const value = await answered(() => route.handle(call));
    answerText(context, 200, `${JSON.stringify(value ?? {}, null, 2)}\n`, 'application/json');
    return true;
  }
}

export const testingPages = (kit: Kit): TestingPages => new TestingPages(kit);

/** Turns errors of the kit into errors of the request. */
async function answered(handle: () => unknown): Promise<unknown> {
  try {
    return await handle();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest((error as Error).message);
  }
}

async function bodyOf({ request }: RequestContext): Promise<JsonObject> {
  const bytes = await readBody(request, keeper);
  if (bytes.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw badRequest(`the body is no JSON: ${(error as Error).message}`);
  }
  if (!isJsonObject(value)) throw badRequest('the body is no JSON object');
  return value;
}
