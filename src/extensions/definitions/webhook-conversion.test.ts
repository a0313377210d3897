/** Proves that every wrong answer of a conversion webhook is refused, in the words of Kubernetes. */
import { describe, expect, it } from 'vitest';
import type { Kind } from '../../api/kind/kind.ts';
import type { ApiObject, JsonObject } from '../../api/text/object.ts';
import { webhookConversion } from './webhook-conversion.ts';

const to = { apiVersion: 'example.com/v2', kind: 'Box' } as Kind;
const box = (name: string): ApiObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Box',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, labels: { a: 'b' } },
});
const about = 'conversion webhook for example.com/v1, Kind=Box';

/** What comes of objects when the webhook gives an answer, or the response in it. */
async function converted(
  answer: (review: any) => unknown,
  objects: ApiObject[] = [box('one')],
  version = 'v1',
): Promise<ApiObject[] | string> {
  const hooks = {
    call: async (_config: unknown, text: string) => answer(JSON.parse(text)) as JsonObject,
  };
  const conversion = webhookConversion(
    { conversionReviewVersions: [version], clientConfig: {} },
    { hooks, uid: () => 'id' },
  );
  return conversion.convert(objects, to).catch((error) => error.message);
}
const head = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview' };
const responding = (response: object) => () => ({
  ...head,
  response: { uid: 'id', result: { status: 'Success' }, ...response },
});
const giving = (change: (object: any) => unknown) => (review: any) =>
  responding({
    convertedObjects: review.request.objects.map((object: any) => {
      object.apiVersion = to.apiVersion;
      return change(object) ?? object;
    }),
  })();
const withLabels = (labels: unknown) =>
  giving((object) => {
    object.metadata.labels = labels;
  });

describe('the review', () => {
  it.each([
    [{}, 'expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind='],
    [
      { ...head, kind: undefined },
      'expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=',
    ],
    [
      { ...head, kind: 'Other' },
      'no kind "Other" is registered for version "apiextensions.k8s.io/v1" in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    ],
    [
      { ...head, apiVersion: 'v1' },
      'no kind "ConversionReview" is registered for version "v1" in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    ],
    [
      { ...head, apiVersion: 'apiextensions.k8s.io/v1beta1' },
      'converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion',
    ],
    [
      { ...head, kind: 5 },
      "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
    ],
    [head, 'no response provided'],
    [{ ...head, response: {} }, 'expected response.uid="id", got ""'],
    [{ ...head, response: { uid: 'id' } }, "response.result.status was '', not 'Success'"],
  ])('%j is refused', async (answer, why) => {
    expect(await converted(() => answer)).toBe(`${about} failed: ${why}`);
  });

  it('says why it failed', async () => {
    const failure = (result: object) => converted(responding({ result, convertedObjects: [] }));
    expect(await failure({ status: 'Failure', message: 'no' })).toBe(`${about} failed: no`);
    expect(await failure({ status: 'Failure' })).toBe(
      `${about} failed: response.result.status was 'Failure', not 'Success'`,
    );
    expect(await failure({ status: 'Great' })).toBe(
      `${about} failed: response.result.status was 'Great', not 'Success'`,
    );
    expect(await failure({ status: 'Success' })).toBe(`${about} returned 0 objects, expected 1`);
  });

  it('of v1beta1 needs neither its type nor the uid', async () => {
    const answer = (review: any) => ({
      response: {
        result: { status: 'Success' },
        convertedObjects: [{ ...review.request.objects[0], apiVersion: to.apiVersion }],
      },
    });
    expect(await converted(answer, [box('one')], 'v1beta1')).toMatchObject([{ apiVersion: to.apiVersion }]);
  });
});

describe('a converted object', () => {
  it.each([
    [
      'nothing but a text',
      () => 'x',
      'json: cannot unmarshal string into Go value of type struct { Items json.RawMessage "json:\\"items\\"" }',
    ],
    [
      'no kind',
      () => ({ apiVersion: to.apiVersion }),
      `Object 'Kind' is missing in '{"apiVersion":"example.com/v2"}'`,
    ],
    [
      'another version',
      (object: any) => ({ ...object, apiVersion: 'example.com/v1' }),
      `${about} returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)`,
    ],
    [
      'another kind',
      (object: any) => ({ ...object, kind: 'Jar' }),
      `${about} returned invalid object at index 0: invalid kind (expected Box, received Jar)`,
    ],
    [
      'another name',
      (object: any) => void (object.metadata.name = 'two'),
      `${about} returned invalid object: must have the same name: one != two`,
    ],
    [
      'no namespace',
      (object: any) => void delete object.metadata.namespace,
      `${about} returned invalid object: must have the same namespace: default != `,
    ],
    [
      'another uid',
      (object: any) => void (object.metadata.uid = 5),
      `${about} returned invalid object: must have the same UID: uid-one != `,
    ],
  ])('with %s is refused', async (_, change, message) => {
    expect(await converted(giving(change))).toBe(message);
  });

  it('must be there', async () => {
    expect(await converted(responding({ convertedObjects: [null] }))).toBe('unexpected end of JSON input');
  });

  it('in a list is told by its place', async () => {
    const second = giving((object) => (object.metadata.name === 'two' ? { ...object, kind: 'Jar' } : object));
    expect(await converted(second, [box('one'), box('two')])).toBe(
      `${about} returned invalid converted object at index 1: invalid kind (expected Box, received Jar)`,
    );
  });

  it.each([
    [['a'], 'invalid metadata.labels of type []interface {} in converted object'],
    [{ a: 1 }, 'metadata.labels[a] must be a string, but is int64 in converted object'],
    [{ a: null }, 'metadata.labels[a] must be a string, but is <nil> in converted object'],
    [
      { 'a b': 'c' },
      /^metadata\.labels: Invalid value: "a b": name part must consist of alphanumeric characters/,
    ],
  ])('with labels %j is refused', async (labels, why) => {
    const message = (await converted(withLabels(labels))) as string;
    const prefix = `${about} returned invalid metadata: `;
    expect(message.startsWith(prefix)).toBe(true);
    expect(message.slice(prefix.length)).toEqual(typeof why === 'string' ? why : expect.stringMatching(why));
  });

  it('keeps its metadata, but for labels and annotations', async () => {
    const change = giving((object) => {
      object.metadata = { ...object.metadata, labels: null, annotations: { c: 'd' }, finalizers: ['x'] };
    });
    expect(await converted(change)).toEqual([
      {
        ...box('one'),
        apiVersion: to.apiVersion,
        metadata: { name: 'one', namespace: 'default', uid: 'uid-one', annotations: { c: 'd' } },
      },
    ]);
  });
});
