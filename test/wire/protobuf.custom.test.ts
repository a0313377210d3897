/** Proves what clients that prefer protobuf get of a kind that has no messages: JSON, metadata in protobuf, or 406. */
import { expect, it } from 'vitest';
import { otherServiceKind } from '../../src/api/kind/widget.fixture.ts';
import { modelOf } from '../../src/api/model/model.ts';
import { decodedDocument, decodedEnvelope } from '../../src/api/protobuf/protobuf-decoder.fixture.ts';
import { FrameReader } from '../support/frames.ts';
import { useKindServer } from '../support/kind-server.ts';

const server = useKindServer();
const protobuf = 'application/vnd.kubernetes.protobuf';
const others = '/apis/serving.knative.dev/v1/namespaces/default/services';
const asPartial = (kind: string) => ({ Accept: `${protobuf};as=${kind};g=meta.k8s.io;v=v1` });
const only = 'only the following media types are accepted: application/json';

it('answers in JSON where there are no messages', async () => {
  await server.kinds.add(otherServiceKind());
  const both = { Accept: `${protobuf},application/json` };
  const made = await server.post(others, { metadata: { name: 's' }, spec: { any: ['thing'] } }, both);
  expect(made.body).toMatchObject({ kind: 'Service', spec: { any: ['thing'] } });
  expect((await server.get(others, both)).body.kind).toBe('ServiceList');
  const watch = await server.watch(`${others}?watch=true&resourceVersion=0`, both);
  expect((await watch.next()).object.spec).toEqual({ any: ['thing'] });
  watch.close();

  // The refusal itself is a Status, which has a message.
  const refusal = async (path: string) => {
    const reply = await server.get(path, { Accept: protobuf });
    expect([reply.status, reply.headers['content-type']]).toEqual([406, protobuf]);
    return decodedDocument(reply.bytes, modelOf('Status'));
  };
  for (const path of [others, `${others}/s`])
    expect(await refusal(path)).toMatchObject({
      reason: 'NotAcceptable',
      message: `${only}, application/yaml, ${protobuf}`,
    });
  expect(await refusal(`${others}?watch=true`)).toMatchObject({
    message: `${only};stream=watch, ${protobuf};stream=watch`,
  });

  const { metadata } = made.body;
  const model = modelOf('PartialObjectMetadata');
  const partial = await server.get(`${others}/s`, asPartial('PartialObjectMetadata'));
  const expected = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
  expect(decodedDocument(partial.bytes, model)).toEqual(expected);
  const list = await server.get(others, asPartial('PartialObjectMetadataList'));
  expect(decodedEnvelope(list.bytes).kind).toBe('PartialObjectMetadataList');
  const frames = new FrameReader(
    await server.stream(`${others}?watch=true&resourceVersion=0`, asPartial('PartialObjectMetadata')),
  );
  expect(decodedDocument((await frames.next())!.object, model)).toEqual(expected);
  frames.close();
  expect(server.failures).toEqual([]);
});
