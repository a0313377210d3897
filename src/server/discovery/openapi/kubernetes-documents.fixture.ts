/**
 * What the documents of a kube-apiserver 1.36.4 say, as digests: of everything but descriptions, which are Wherry's own
 * words, and of the form of parameters and references, which may be written in place or once for all.
 */
import { createHash } from 'node:crypto';

type Json = any;

/** The digest of a document of OpenAPI 2 or 3. */
export function digestOf(document: Json): string {
  const { paths, components: { parameters: ofThree, ...components } = {} as Json } = document;
  const { parameters: ofTwo, info, ...others } = document;
  const shared = ofThree ?? ofTwo ?? {};
  const found = (one: Json): Json =>
    one.$ref ? Object.entries(shared).find(([name]) => one.$ref.endsWith(`/${name}`))![1] : one;
  const taken = ({ parameters, ...other }: Json): Json => ({
    ...other,
    ...(parameters ? { parameters: parameters.map(found) } : {}),
  });
  const plainPaths = Object.entries(paths).map(([path, item]) => {
    const { parameters, ...methods } = taken(item);
    return [
      path,
      { parameters, ...Object.fromEntries(Object.entries(methods).map(([m, o]) => [m, taken(o)])) },
    ];
  });
  const shown = { ...others, info: { ...info }, components, paths: Object.fromEntries(plainPaths) };
  return createHash('sha256')
    .update(JSON.stringify(bare(shown)))
    .digest('hex')
    .slice(0, 12);
}

/** Without descriptions, with sorted members, and with references that stand alone. */
function bare(value: Json, isNamed = false): Json {
  if (Array.isArray(value)) return value.map((each) => bare(each));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([name, each]) => isNamed || name !== 'description' || typeof each !== 'string')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => [name, bare(each, name === 'properties' && !isNamed)]);
  const [[name, only] = [], ...more] = entries;
  return name === 'allOf' && !more.length ? only[0] : Object.fromEntries(entries);
}

/** Digests by the name of a document: `v2`, or the path behind `/openapi/v3/`. */
export const digests: Readonly<Record<string, string>> = {
  v2: 'e597e51f1594',
  '.well-known/openid-configuration': '907d45fc42d7',
  api: '40c81421a5e8',
  apis: '4a108941012b',
  'apis/admissionregistration.k8s.io': '43bf52284d7a',
  'apis/admissionregistration.k8s.io/v1': '47131e272be0',
  'apis/apiextensions.k8s.io': '8dc616149dcc',
  'apis/apiextensions.k8s.io/v1': '279887907c2c',
  'apis/apiregistration.k8s.io': '429a2147da61',
  'apis/apiregistration.k8s.io/v1': '82f0dec5c5f6',
  'apis/apps': 'e8388cd36747',
  'apis/apps/v1': 'b85f5ac5b995',
  'apis/authentication.k8s.io': '6d1215e0bfc7',
  'apis/authentication.k8s.io/v1': '153a65768189',
  'apis/authorization.k8s.io': '926ca2c59b92',
  'apis/authorization.k8s.io/v1': 'ad43706ceabe',
  'apis/autoscaling': 'a97d27872d4a',
  'apis/autoscaling/v1': 'e6de0d653f27',
  'apis/autoscaling/v2': '519340e49426',
  'apis/batch': '23f313036feb',
  'apis/batch/v1': 'dc31508a0992',
  'apis/certificates.k8s.io': '0ff987b37395',
  'apis/certificates.k8s.io/v1': 'aa4e217eb669',
  'apis/coordination.k8s.io': 'ab955b896fb3',
  'apis/coordination.k8s.io/v1': 'f4987d3d0f36',
  'apis/discovery.k8s.io': '68ac42e62de3',
  'apis/discovery.k8s.io/v1': 'a0759b3cbc17',
  'apis/events.k8s.io': '6e1b578c26ce',
  'apis/events.k8s.io/v1': 'c6dabc0e3bba',
  'apis/flowcontrol.apiserver.k8s.io': '750e55351bd1',
  'apis/flowcontrol.apiserver.k8s.io/v1': '2fa73056e2e3',
  'apis/networking.k8s.io': 'da29d9c2814b',
  'apis/networking.k8s.io/v1': '7a8f03474f3c',
  'apis/node.k8s.io': '6869ab19383e',
  'apis/node.k8s.io/v1': 'c0af85e11b48',
  'apis/policy': '9be011b971b0',
  'apis/policy/v1': 'a5816c09a73c',
  'apis/rbac.authorization.k8s.io': 'b89a8a3be40d',
  'apis/rbac.authorization.k8s.io/v1': 'b193dc5ad06b',
  'apis/resource.k8s.io': '6c2b0cbc2fbe',
  'apis/resource.k8s.io/v1': '1e35de65aeb1',
  'apis/scheduling.k8s.io': '7e7a6a8a78c5',
  'apis/scheduling.k8s.io/v1': 'f47b8988dece',
  'apis/storage.k8s.io': '11bd3389f876',
  'apis/storage.k8s.io/v1': '27a6e9bffbbe',
  'api/v1': '18acaa5b6a17',
  'openid/v1/jwks': '81ee009db1ec',
  version: '08856e1d075f',
};
