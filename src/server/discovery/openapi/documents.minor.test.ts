/** Proves that the documents of a minor of Kubernetes are those of its kube-apiserver, all but descriptions. */
import { expect, it } from 'vitest';
import { builtinKinds, KindTable } from '../../../api/kinds/kinds.ts';
import { Enablement } from '../../../api/kinds/runtime-config.ts';
import { Minor } from '../../../api/minors/minor.ts';
import { servedComputedVersions } from '../../route-table.ts';
import { Discovery } from '../discovery.ts';
import { Documents } from './documents.ts';
import { digestOf, digests } from './kubernetes-documents.fixture.ts';

type Json = any;

const parse = (document: { bytes: Buffer } | undefined): Json => JSON.parse(document!.bytes.toString());

function documentsOf(version: string): Documents {
  const minor = new Minor(version);
  const enablement = new Enablement({}, minor);
  const kinds = new KindTable([...builtinKinds, ...minor.kinds()], enablement.serves, minor);
  return new Documents(new Discovery(kinds, servedComputedVersions(kinds)), kinds);
}

it('are those of a kube-apiserver 1.36.4', async () => {
  const documents = documentsOf('1.36');
  const { paths } = parse(await documents.v3Index());
  const found: Record<string, string> = { v2: digestOf(parse(await documents.v2())) };
  for (const name of Object.keys(paths)) found[name] = digestOf(parse(await documents.v3(name)));
  expect(found).toEqual(digests);
});

it('say what /version answered then', async () => {
  const fields = async (version: string): Promise<string[]> => {
    const { schemas } = parse(await documentsOf(version).v3('version')).components;
    return Object.keys(schemas['io.k8s.apimachinery.pkg.version.Info'].properties);
  };
  expect(await fields('1.32')).not.toContain('emulationMajor');
  expect(await fields('1.33')).toContain('emulationMajor');
});

it('name the patch until servers could emulate a minor', async () => {
  const release = async (version: string): Promise<string> =>
    parse(await documentsOf(version).v3('apis/apps/v1')).info.version;
  expect([await release('1.30.2'), await release('1.31.1')]).toEqual(['v1.30.2+wherry', '1.31']);
});
