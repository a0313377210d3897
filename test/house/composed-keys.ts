/**
 * Finds keys of maps, sets and caches that are joined from several texts by hand. Where a part may hold the character
 * between them, other parts give the same key, and one user gets what is remembered of another; `src/composed-key.ts`
 * makes keys that cannot collide. Those that are joined all the same are listed here, with the reason why no part can
 * hold the separator.
 */

/** A template in the place of a key: handed to a map or set, or what a name with `key` in it stands for. */
const keyTemplate =
  /(?:\.(?:get|set|has|delete|add)\(\s*|\b\w*[kK]ey(?:Of|Text)?\s*(?:=|=\s*\([^()]*\)\s*(?::\s*string\s*)?=>)\s*)`((?:[^`\\]|\\.)*)`/g;

/** A namespace and the name of an object in it: neither can hold a slash. */
const objectName = /^\$\{(\w+\.)?namespace\}\/\$\{(\w+\.)?(name|claim)\}$/;

const names = 'names of objects, namespaces and ports hold no slash, colon or blank';
const segments =
  'groups, versions and resources hold no slash; what a client made up is looked up and not found';
const numbers = 'a number is the last part, so the rest is what stands before it';
const tables = 'the parts are names in tables of this package';
const labels = 'the key of a label holds no equals sign';
const versions = 'a version holds no blank';
const request = 'the address of a request, not a key';
const meant = 'the text itself is what is meant, not a key for several parts';

/** By file and template. */
const reasons: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'src/access/authorization/node-authorizer.ts': {
    '${resource.group}/${resource.resource}': segments,
  },
  'src/access/authorization/rule-set.ts': {
    '${resource}/${subresource}': meant,
    '${all}/${subresource}': meant,
  },
  'src/api/errors/field-error.ts': {
    '${path}[${name}]': meant,
  },
  'src/api/minors/former-kinds.ts': {
    '${apiVersion}/${resource}': tables,
    "${group || 'core'}/${resource}": tables,
  },
  'src/api/minors/minor-models.ts': {
    '${versionOf(file)}:${name}': tables,
  },
  'src/api/model/go-type-names.ts': {
    '${name}.${field}': tables,
  },
  'src/api/rules/service/service-ports.ts': {
    '${protocol} ${nodePort}': numbers,
    '${protocol} ${port}': numbers,
  },
  'src/api/rules/service/slice-endpoints.ts': {
    '${ip} ${port}': numbers,
  },
  'src/cluster/node/simulated-nodes.ts': {
    '${name}-${before + i}': meant,
  },
  'src/cluster/past/past-objects.ts': {
    '${root}${place}/${resource}?${query}': request,
  },
  'src/controllers/namespaces.ts': {
    '${kind.resource}.${kind.group}': meant,
  },
  'src/controllers/scheduling/pod-affinity.ts': {
    '${key}=${value}': labels,
  },
  'src/extensions/aggregation/api-services.ts': {
    '${group}/${version}': segments,
  },
  'src/extensions/aggregation/availability.ts': {
    '${name.slice(dot + 1)}/${name.slice(0, dot)}': segments,
  },
  'src/ingress/served.ts': {
    "${metadata.creationTimestamp ?? ''}\\n${metadata.namespace}\\n${metadata.name}": names,
  },
  'src/node/environment/service-environment.ts': {
    '${prefix}_SERVICE_PORT_${variableName(name)}': meant,
  },
  'src/node/network/host-ports.ts': {
    "${namespace}/${name} ${uid} ${own ?? '*'}:${hostPort}/${protocol}": names,
  },
  'src/node/network/service-ports.ts': {
    "${namespace}/${name}:${port.name ?? ''}/${protocol}": names,
  },
  'src/recorder/following/source-listing.ts': {
    '${sourcePath(kind)}?${query}': request,
  },
  'src/registry/allocation/ip-allocator.ts': {
    '${range.first}/${range.prefixLength}': numbers,
  },
  'src/registry/verbs/conversion.ts': {
    '${to.apiVersion} ${jsonText(object)}': versions,
  },
};

interface JoinedKey {
  readonly path: string;
  readonly template: string;
}

/** The joined keys of a file that have no reason. */
export function joinedKeys(path: string, text: string): JoinedKey[] {
  const known = reasons[path] ?? {};
  return [...text.matchAll(keyTemplate)]
    .map(([, template]) => ({ path, template: template! }))
    .filter(({ template }) => template.split('${').length > 2)
    .filter(({ template }) => !objectName.test(template) && !(template in known));
}

/** Listed keys that are not in their files any more. */
export function staleReasons(textOf: (path: string) => string | undefined): JoinedKey[] {
  return Object.entries(reasons).flatMap(([path, templates]) => {
    const text = textOf(path) ?? '';
    return Object.keys(templates)
      .filter((template) => !text.includes(`\`${template}\``))
      .map((template) => ({ path, template }));
  });
}
