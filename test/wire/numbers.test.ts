/**
 * Proves that no number changes on its way in and out: int64 fields hold 64 bits, quantities and raw values are exact,
 * and what cannot be kept is refused, in JSON, YAML and patches of all kinds.
 */
import { describe, expect, it } from 'vitest';
import { type Json, jsonPatch, mergePatch, strategicPatch, useCluster } from '../support/http.ts';

const client = useCluster();
const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';
const pods = '/api/v1/namespaces/default/pods';
const templates = '/api/v1/namespaces/default/podtemplates';
const nodes = '/api/v1/nodes';

const large = '9007199254740993';
const largest = '9223372036854775807';
const yaml = { 'Content-Type': 'application/yaml' };

const podText = (name: string, spec: string): string =>
  `{"metadata":{"name":"${name}"},"spec":{"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"i"}],${spec}}}`;

/** All forms in which an object is read. */
async function texts(path: string): Promise<string[]> {
  const read = async (query: string, accept = 'application/json'): Promise<string> =>
    (await client.get(`${path}${query}`, { Accept: accept })).text;
  const list = path.slice(0, path.lastIndexOf('/'));
  return [
    await read(''),
    await read('?pretty=true'),
    await read('', 'application/yaml'),
    (await client.get(`${list}?pretty=true`)).text,
    (await client.get(list)).text,
    (
      await client.get(`${list}?includeObject=Object`, {
        Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      })
    ).text,
  ];
}

async function expectEverywhere(path: string, pattern: RegExp): Promise<void> {
  for (const text of await texts(path)) expect(text).toMatch(pattern);
}

describe('an int64 field', () => {
  it.each([large, largest, '9007199254740992', `-${large}`, '-9223372036854775808'])(
    'holds %s',
    async (number) => {
      const name = `t${number.replace('-', 'm')}`;
      const toleration = `"tolerations":[{"operator":"Exists","effect":"NoExecute","tolerationSeconds":${number}}]`;
      const reply = await client.post(pods, podText(name, toleration));
      expect(reply.status, reply.text).toBe(200);
      await expectEverywhere(`${pods}/${name}`, new RegExp(`"?tolerationSeconds"?: ?${number}\\b`));
      // Another change keeps it.
      for (const type of [mergePatch, strategicPatch])
        expect(
          (await client.patch(`${pods}/${name}`, { metadata: { labels: { by: type.slice(12, 17) } } }, type))
            .status,
        ).toBe(200);
      await expectEverywhere(`${pods}/${name}`, new RegExp(`"?tolerationSeconds"?: ?${number}\\b`));
      expect((await client.put(`${pods}/${name}`, (await client.get(`${pods}/${name}`)).text)).status).toBe(
        200,
      );
      await expectEverywhere(`${pods}/${name}`, new RegExp(`"?tolerationSeconds"?: ?${number}\\b`));
    },
  );

  it.each(['9223372036854775808', '-9223372036854775809', '1.5', '1e400', '10000000000000000000.5'])(
    'does not hold %s',
    async (number) => {
      const reply = await client.post(pods, podText('no', `"terminationGracePeriodSeconds":${number}`));
      expect(reply.status).toBe(400);
      expect(reply.body.message).toMatch(
        /cannot unmarshal number .* into Go struct field PodSpec\.spec\.terminationGracePeriodSeconds of type int64$/,
      );
    },
  );

  it('is told apart from an int32', async () => {
    const reply = await client.post(pods, podText('no', `"priority":${large}`));
    expect(reply.body.message).toMatch(
      `cannot unmarshal number ${large} into Go struct field PodSpec.spec.priority of type int32`,
    );
  });

  it('keeps the bounds of its kind', async () => {
    const reply = await client.post(pods, podText('no', `"securityContext":{"runAsUser":${largest}}`));
    expect(reply.status).toBe(422);
    expect(reply.body.message).toContain(
      `Invalid value: ${largest}: must be between 0 and 2147483647, inclusive`,
    );
  });

  it('may be set by YAML and by patches of all kinds', async () => {
    const body = `metadata: {name: yaml}\nspec:\n  terminationGracePeriodSeconds: ${largest}\n  containers: [{name: c, image: i}]\n`;
    expect((await client.post(pods, body, yaml)).text).toContain(
      `"terminationGracePeriodSeconds":${largest}`,
    );
    await client.post(
      templates,
      '{"metadata":{"name":"t"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}',
    );
    const seconds = (number: string): string =>
      `{"template":{"spec":{"terminationGracePeriodSeconds":${number}}}}`;
    for (const [type, patch, number] of [
      [mergePatch, seconds(large), large],
      [strategicPatch, seconds(largest), largest],
      [
        jsonPatch,
        `[{"op":"test","path":"/template/spec/terminationGracePeriodSeconds","value":${largest}},{"op":"replace","path":"/template/spec/terminationGracePeriodSeconds","value":${large}}]`,
        large,
      ],
    ] as const) {
      const reply = await client.patch(`${templates}/t`, patch, type);
      expect(reply.status, reply.text).toBe(200);
      await expectEverywhere(
        `${templates}/t`,
        new RegExp(`"?terminationGracePeriodSeconds"?: ?${number}\\b`),
      );
    }
    const wrong = `[{"op":"test","path":"/template/spec/terminationGracePeriodSeconds","value":9007199254740992}]`;
    expect((await client.patch(`${templates}/t`, wrong, jsonPatch)).status).toBe(422);
  });

  it('of a grace period does no harm', async () => {
    await client.post(pods, podText('grace', `"nodeName":"n","terminationGracePeriodSeconds":${largest}`));
    const marked = await client.delete(`${pods}/grace`);
    expect(marked.status).toBe(200);
    expect(marked.body.metadata.deletionTimestamp).toBeTruthy();
    expect((await client.delete(`${pods}/grace?gracePeriodSeconds=${largest}`)).status).toBe(200);
    expect((await client.delete(`${pods}/grace`, `{"gracePeriodSeconds":${largest}}`)).status).toBe(200);
    expect((await client.delete(`${pods}/grace?gracePeriodSeconds=0`)).status).toBe(200);
    expect((await client.delete(`${pods}/grace?gracePeriodSeconds=9223372036854775808`)).status).toBe(400);
  });
});

describe('a quantity given as a number', () => {
  const node = (name: string, amount: string): string =>
    `{"metadata":{"name":"${name}"},"status":{"capacity":{"memory":${amount}}}}`;

  it.each([
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['100000000000000000000000', '100e21'.replace('100e21', '100000E')],
    ['0.5', '500m'],
  ])('%s is exact', async (amount, written) => {
    const name = `q${amount.replace('.', '-')}`;
    expect((await client.post(nodes, node(name, amount))).status).toBe(200);
    expect((await client.get(`${nodes}/${name}`)).body.status.capacity.memory).toBe(written);
  });

  it.each(['1.0000000000000000001', '1e400', '1e-400'])('%s is refused', async (amount) => {
    const reply = await client.post(nodes, node('no', amount));
    expect(reply.status).toBe(400);
    expect(reply.body.message).toMatch(/quantit/);
  });
});

describe('a raw value', () => {
  const revision = (name: string, data: string, number = '1'): string =>
    `{"metadata":{"name":"${name}"},"revision":${number},"data":${data}}`;

  it('is kept as it is', async () => {
    const data = `{"a":[${large},-${largest},18446744073709551617,0.30000000000000004],"b":"${large}"}`;
    expect((await client.post(revisions, revision('raw', data, largest))).text).toContain(
      `"data":${data},"revision":${largest}`,
    );
    expect((await client.get(`${revisions}/raw`)).text).toContain(`"data":${data}`);
    for (const type of [mergePatch, strategicPatch])
      await client.patch(
        `${revisions}/raw`,
        `{"revision":${large},"metadata":{"labels":{"by":"${type.slice(12, 17)}"}}}`,
        type,
      );
    expect((await client.get(`${revisions}/raw`)).text).toContain(`"data":${data},"revision":${large}`);
    const changed = await client.patch(`${revisions}/raw`, '{"data":{"a":[9007199254740992]}}', mergePatch);
    expect(changed.body.message).toContain('field is immutable');
    for (const path of [`${revisions}/raw?pretty=true`, `${revisions}?pretty=true`])
      for (const Accept of ['application/json', 'application/yaml'])
        expect((await client.get(path, { Accept })).text).toMatch(/18446744073709551617/);
  });

  it('may come as YAML', async () => {
    const body = `metadata: {name: yaml}\nrevision: 1\ndata: {a: ${large}, b: 0x${'f'.repeat(16)}, c: -${largest}}\n`;
    expect((await client.post(revisions, body, yaml)).text).toContain(
      `"data":{"a":${large},"b":18446744073709551615,"c":-${largest}}`,
    );
  });

  it.each(['{"a":1e400}', '{"a":[-1e400]}', '{"a":{"b":1.0000000000000000001}}'])(
    'is refused as %s',
    async (data) => {
      const reply = await client.post(revisions, revision('no', data));
      expect(reply.status).toBe(400);
      expect(reply.body.message).toMatch(/cannot unmarshal number .* into Go value of type float64/);
      await client.post(revisions, revision('kept', '{}'));
      for (const [type, code] of [
        [mergePatch, 422],
        [strategicPatch, 422],
      ] as const)
        expect((await client.patch(`${revisions}/kept`, `{"data":${data}}`, type)).status).toBe(code);
    },
  );
});

describe('a watch', () => {
  it('tells large numbers as they are', async () => {
    const { resourceVersion } = ((await client.get(revisions)).body as Json).metadata;
    const watch = await client.watch(`${revisions}?watch=1&resourceVersion=${resourceVersion}`);
    await client.post(revisions, `{"metadata":{"name":"seen"},"revision":${large},"data":{"a":1}}`);
    expect(String((await watch.next()).object.metadata.name)).toBe('seen');
    watch.close();
    const text = (await client.get(`${revisions}/seen`)).text;
    expect(text).toContain(`"revision":${large}`);
  });
});
