/** Proves what a webhook is asked, what its answers mean, how long they hold, and what its failures come to. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { compileReviewCondition } from '../../api/cel/access.ts';
import type { Attributes, Decision } from '../../api/kind/access.ts';
import { parseFieldSelector } from '../../api/kind/field-selector.ts';
import { parseLabelSelector } from '../../api/kind/label-selector.ts';
import { remoteAgent } from '../shared/remote-call.ts';
import { asks, user } from './authorization.fixture.ts';
import { WebhookAuthorizer, type WebhookOptions } from './webhook.ts';

let server: Server;
/** Bodies that were sent. */
let asked: { apiVersion: string; spec: Record<string, unknown> }[] = [];
let answer: (version: string) => { code: number; body: unknown };
let nowMs = 0;

const status = (given: object) => (apiVersion: string) => ({
  code: 200,
  body: { kind: 'SubjectAccessReview', apiVersion, status: given },
});

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const review = JSON.parse(text);
    asked.push(review);
    const { code, body } = answer(review.apiVersion);
    response.writeHead(code).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
afterEach(() => {
  asked = [];
});

function webhook(options: Partial<WebhookOptions> = {}): WebhookAuthorizer {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/review`;
  return new WebhookAuthorizer({
    service: { url, headers: {}, agent: remoteAgent({}) },
    version: 'v1',
    allowedMs: 300_000,
    refusedMs: 30_000,
    timeoutMs: 5_000,
    onFailure: 'NoOpinion',
    nowMs: () => nowMs,
    ...options,
  });
}

const jo = { ...user('jo', 'a', 'b'), uid: 'u', extra: { scope: ['x'] } };
const question = asks(jo, 'list apps:deployments/scale d', 'n');

describe('the question', () => {
  it('holds the user, the attributes and the selectors', async () => {
    answer = status({ allowed: true });
    const resource = {
      ...question.info.resource!,
      fieldSelector: parseFieldSelector('metadata.name=d'),
      labelSelector: parseLabelSelector('a in (b,c),!d'),
    };
    await webhook().decide({ ...question, info: { ...question.info, resource } });
    expect(asked[0]!.spec).toEqual({
      user: 'jo',
      uid: 'u',
      groups: ['a', 'b'],
      extra: { scope: ['x'] },
      resourceAttributes: {
        namespace: 'n',
        verb: 'list',
        group: 'apps',
        version: 'v1',
        resource: 'deployments',
        subresource: 'scale',
        name: 'd',
        fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['d'] }] },
        labelSelector: {
          requirements: [
            { key: 'a', operator: 'In', values: ['b', 'c'] },
            { key: 'd', operator: 'DoesNotExist' },
          ],
        },
      },
    });
  });

  it('has the groups under the old name in the old version', async () => {
    answer = status({ allowed: true });
    await webhook({ version: 'v1beta1' }).decide(asks(jo, 'get /x'));
    expect(asked[0]).toMatchObject({
      apiVersion: 'authorization.k8s.io/v1beta1',
      spec: { group: ['a', 'b'], nonResourceAttributes: { path: '/x', verb: 'get' } },
    });
  });
});

describe('the answer', () => {
  it.each<[object, Decision]>([
    [
      { allowed: true, reason: 'r' },
      { allowed: true, reason: 'r' },
    ],
    [{ denied: true }, { allowed: false, denied: true, reason: '' }],
    [
      { allowed: false, reason: 'no' },
      { allowed: false, reason: 'no' },
    ],
    [{}, { allowed: false, reason: '' }],
  ])('%j means %j', async (given, decision) => {
    answer = status(given);
    expect(await webhook().decide(question)).toEqual(decision);
  });

  it('holds for its time, and is asked for once at a time', async () => {
    answer = status({ allowed: true });
    const authorizer = webhook();
    await Promise.all([authorizer.decide(question), authorizer.decide(question)]);
    nowMs += 299_000;
    await authorizer.decide(question);
    expect(asked.length).toBe(1);
    nowMs += 2_000;
    answer = status({ allowed: false });
    expect((await authorizer.decide(question)).allowed).toBe(false);
    nowMs += 31_000;
    await authorizer.decide(question);
    expect(asked.length).toBe(3);
  });
});

describe('a failure', () => {
  it('is no opinion with an error, or a refusal, and is not remembered', async () => {
    answer = () => ({ code: 404, body: {} });
    const error = 'the authorization webhook answers with status 404';
    const authorizer = webhook();
    expect(await authorizer.decide(question)).toEqual({ allowed: false, reason: '', error });
    expect(await webhook({ onFailure: 'Deny' }).decide(question)).toMatchObject({ denied: true, error });
    answer = status({ allowed: true });
    expect((await authorizer.decide(question)).allowed).toBe(true);
  });

  it('is an answer of another kind, or one that allows and denies', async () => {
    answer = () => ({ code: 200, body: { kind: 'Status' } });
    expect((await webhook().decide(question)).error).toMatch(/not a SubjectAccessReview/);
    answer = status({ allowed: true, denied: true });
    expect(await webhook().decide(question)).toMatchObject({ allowed: false, denied: true });
  });
});

describe('conditions', () => {
  const when = (...texts: string[]) =>
    texts.map((expression) => ({ expression, checked: compileReviewCondition(expression) }));
  const paths = asks(jo, 'get /x');

  it.each<[string, Attributes, boolean]>([
    ['has(request.resourceAttributes)', question, true],
    ['has(request.resourceAttributes)', paths, false],
    ["request.nonResourceAttributes.path == '/x'", paths, true],
    ["request.resourceAttributes.namespace != 'kube-system'", question, true],
    ["request.resourceAttributes.namespace == ''", asks(jo, 'list nodes'), true],
    ["request.resourceAttributes.subresource == 'scale'", question, true],
    ["!('a' in request.groups)", question, false],
    ["request.user == 'jo' && request.uid == 'u' && request.extra['scope'] == ['x']", question, true],
  ])('%s: asked or not', async (text, about, isAsked) => {
    answer = status({ allowed: true });
    const decision = await webhook({ conditions: when(text) }).decide(about);
    expect(decision).toEqual({ allowed: isAsked, reason: '' });
    expect(asked.length).toBe(isAsked ? 1 : 0);
  });

  it('that fail count as a failure of the webhook, unless another is false', async () => {
    const failing = "request.extra['none'] == ['x']";
    const error = `cel evaluation error: expression '${failing}' resulted in error: no such key: none`;
    const conditions = when(failing);
    expect(await webhook({ conditions }).decide(question)).toEqual({ allowed: false, reason: '', error });
    expect(await webhook({ conditions, onFailure: 'Deny' }).decide(question)).toMatchObject({
      denied: true,
      error,
    });
    const deny = webhook({ conditions: when(failing, 'false'), onFailure: 'Deny' });
    expect(await deny.decide(question)).toEqual({ allowed: false, reason: '' });
    expect(asked).toEqual([]);
  });

  it('end when they take too many steps', async () => {
    const groups = Array.from({ length: 2_000 }, (_, at) => `group-${at}`);
    const loop = 'request.groups.all(a, request.groups.exists(b, a + b == "x") || true)';
    const decision = await webhook({ conditions: when(loop) }).decide({
      ...question,
      user: { ...jo, groups },
    });
    expect(decision.error).toMatch(/actual cost limit exceeded/);
    expect(asked).toEqual([]);
  });
});
