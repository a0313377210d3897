/** Names, labels and annotations: valid values, and the error messages. Wire, 5.4 and 5.5. */
import { describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import { configMap, configMaps, created, jobs } from './objects.ts';

const client = useCluster();

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

describe('names', () => {
  it('are subdomains', async () => {
    expectInvalid(
      await client.post(configMaps, configMap('A_b')),
      'ConfigMap',
      'A_b',
      'metadata.name',
      `Invalid value: "A_b": ${subdomain}`,
    );
    const long = 'x'.repeat(254);
    expectInvalid(
      await client.post(configMaps, configMap(long)),
      'ConfigMap',
      long,
      'metadata.name',
      `Invalid value: "${long}": must be no more than 253 characters`,
    );
    expect((await client.post(configMaps, configMap('x'.repeat(253)))).status).toBe(200);
  });

  it('of another group are told with it', async () => {
    const reply = await client.post(jobs, { metadata: { name: 'A_b' } });
    expect(reply.body.message).toContain('Job.extensions "A_b" is invalid: ');
    expect(reply.body.details).toMatchObject({ name: 'A_b', group: 'extensions', kind: 'Job' });
  });

  it('of namespaces are labels', async () => {
    const refuse = async (name: string, text: string) =>
      expectInvalid(
        await client.post('/api/v1/namespaces', { metadata: { name } }),
        'Namespace',
        name,
        'metadata.name',
        `Invalid value: "${name}": ${text}`,
      );
    await refuse('A_b', label);
    await refuse('a.b', 'must not contain dots');
    await refuse('x'.repeat(64), 'must be no more than 63 characters');
  });

  it('of services are labels, a leading digit allowed', async () => {
    const services = '/api/v1/namespaces/default/services';
    const service = (name: string) => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } });
    expect((await client.post(services, service('1web'))).status).toBe(200);
    const reply = await client.post(services, service('a.b'));
    expect(reply.status).toBe(422);
    expect(reply.body.details.causes[0].field).toBe('metadata.name');
  });

  it('of events are anything that fits into a path', async () => {
    const events = '/api/v1/namespaces/default/events';
    const event = (name: string) => ({ metadata: { name }, involvedObject: { namespace: 'default' } });
    expect((await client.post(events, event('Odd_Name:1'))).status).toBe(200);
    for (const [name, text] of [
      ['a/b', "may not contain '/'"],
      ['a%b', "may not contain '%'"],
      ['.', "may not be '.'"],
      ['..', "may not be '..'"],
    ])
      expectInvalid(
        await client.post(events, event(name!)),
        'Event',
        name!,
        'metadata.name',
        `Invalid value: "${name}": ${text}`,
      );
  });

  it('in a path are checked for what no name may hold', async () => {
    const bad = await client.get(`${configMaps}/a%25b`);
    expectFailure(bad, 400, 'BadRequest', 'Name parameter invalid: "a%b": may not contain \'%\'');
    const odd = await client.get(`${configMaps}/A_b`);
    expectFailure(odd, 404, 'NotFound', 'configmaps "A_b" not found', { name: 'A_b', kind: 'configmaps' });
  });

  it('are required', async () => {
    expectInvalid(
      await client.post(configMaps, { metadata: {} }),
      'ConfigMap',
      '',
      'metadata.name',
      'Required value: name or generateName is required',
    );
  });
});

describe('labels and annotations', () => {
  const namePart =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  // Section 5.5 calls it a qualified name; 1.36, which section 7.3 quotes, a valid label key.
  const qualified =
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  const value =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

  it('may have a prefix, and empty values', async () => {
    const labels = { 'example.com/Name_1.x': '', a: '1', B: 'Value_2' };
    const { metadata } = await created(
      client,
      configMaps,
      configMap('labelled', undefined, { labels, annotations: { ...labels, free: '\u2028 any {text}' } }),
    );
    expect(metadata.labels).toEqual(labels);
    expect(metadata.annotations.free).toBe('\u2028 any {text}');
  });

  const badKeys: [string, string][] = [
    ['-a', namePart],
    ['a b', namePart],
    ['x/'.concat('y'.repeat(64)), 'name part must be no more than 63 characters'],
    ['/a', 'prefix part must be non-empty'],
    ['A_/a', `prefix part ${subdomain}`],
    ['a/b/c', qualified],
  ];
  for (const [key, text] of badKeys)
    for (const field of ['labels', 'annotations'])
      it(`refuse the key ${key} in ${field}`, async () => {
        expectInvalid(
          await client.post(configMaps, configMap('c', undefined, { [field]: { [key]: '' } })),
          'ConfigMap',
          'c',
          `metadata.${field}`,
          `Invalid value: "${key}": ${text}`,
        );
      });

  it('refuse an empty name', async () => {
    const reply = await client.post(configMaps, configMap('c', undefined, { labels: { 'x/': '' } }));
    expect(reply.body.details.causes[0].message).toBe('Invalid value: "x/": name part must be non-empty');
  });

  it('refuse a label value', async () => {
    for (const [bad, text] of [
      ['a b', value],
      ['-a', value],
      ['x'.repeat(64), 'must be no more than 63 characters'],
    ])
      expectInvalid(
        await client.post(configMaps, configMap('c', undefined, { labels: { a: bad } })),
        'ConfigMap',
        'c',
        'metadata.labels',
        `Invalid value: "${bad}": ${text}`,
      );
  });

  it('refuse annotations of more than 256 KiB', async () => {
    expectInvalid(
      await client.post(configMaps, configMap('c', undefined, { annotations: { a: 'x'.repeat(262_144) } })),
      'ConfigMap',
      'c',
      'metadata.annotations',
      'Too long: may not be more than 262144 bytes',
    );
  });

  it('are checked on updates too', async () => {
    await created(client, configMaps, configMap('relabelled'));
    const reply = await client.patch(`${configMaps}/relabelled`, { metadata: { labels: { a: 'a b' } } });
    expect(reply.status).toBe(422);
  });
});
