/** Servers of the API that say untrue and impossible things of themselves, or nothing, or too much. */
import { type Attack, codesText } from '../attack.ts';
import { runBackend, until } from '../pods.ts';

const services = '/apis/apiregistration.k8s.io/v1/apiservices';
/** Such that answer, and such that do not, whose checks take their time. */
const answering = ['core', 'controls', 'types', 'deep', 'redirect', 'huge-list'];
const failing = ['not-http', 'informing', 'endless', 'endless-head', 'hang', 'slow'];
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';

interface Resource {
  readonly resource: string;
  readonly responseKind?: { readonly kind?: unknown };
}

export const attack: Attack = {
  name: 'servers that lie in discovery',
  options: ['up', '--ingress-port', '0'],
  run: async (server, isShort) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    await runBackend(server);
    const ways = isShort ? answering : [...answering, ...failing];
    const core = (await server.ask('admin', '/api/v1')).text;
    for (const way of ways)
      await server.create(services, {
        metadata: { name: `v1.${way}.attack.example` },
        spec: {
          group: `${way}.attack.example`,
          version: 'v1',
          groupPriorityMinimum: 20_000,
          versionPriority: 100,
          insecureSkipTLSVerify: true,
          service: { namespace: 'attack', name: 'backend' },
        },
      });
    await until('all were looked at', async () => {
      const { items } = JSON.parse((await server.askLocally(services)).text);
      const own = items.filter((item: any) => item.metadata.name.endsWith('.attack.example'));
      if (!own.every((item: any) => item.status?.conditions?.length)) return undefined;
      const available = own.filter((item: any) => item.status.conditions[0].status === 'True');
      // What is not reached at first is looked at again after a while.
      return available.length >= answering.length - 1 ? true : undefined;
    });
    const asked = [
      ['/apis', {}],
      ['/apis', { accept: aggregated }],
      ['/api', { accept: aggregated }],
      ['/openapi/v2', {}],
      ['/openapi/v3', {}],
      ['/', {}],
    ] as const;
    const look = async ([path, headers]: (typeof asked)[number]): Promise<void> => {
      const { status, text } = await server.ask('admin', path, { headers });
      codes.push(status);
      if (status !== 200) gotIn.push(`${path} is answered with ${status}: ${text.slice(0, 100)}`);
      else gotIn.push(...(path === '/apis' && 'accept' in headers ? problems(text) : []));
    };
    for (let round = 0; round < (isShort ? 1 : 20); round++) await Promise.all(asked.map(look));
    for (const path of ['things', 'namespaces/attack/things/x']) {
      const { status } = await server.ask('admin', `/apis/redirect.attack.example/v1/${path}`);
      codes.push(status);
      if (status < 400) gotIn.push(`a redirect of the other server reaches the client: ${status}`);
    }
    if ((await server.ask('admin', '/api/v1')).text !== core) gotIn.push('the core is described differently');
    for (const way of ways) await server.remove(`${services}/v1.${way}.attack.example`);
    return { gotIn: [...new Set(gotIn)], says: codesText(codes) };
  },
};

/** What is wrong with the list of everything, as clients would stumble over it. */
function problems(text: string): string[] {
  const found: string[] = [];
  for (const { metadata, versions } of JSON.parse(text).items)
    for (const { version, resources = [] } of versions)
      for (const { resource, responseKind, ...rest } of resources as (Resource & Record<string, unknown>)[]) {
        const place = `${metadata.name}/${version}`;
        if (typeof resource !== 'string' || /[\u0000-\u001f\u007f]/.test(resource))
          found.push(`${place} has a resource ${JSON.stringify(resource)}`);
        if (typeof responseKind?.kind !== 'string') found.push(`${place} has a kind that is no text`);
        for (const name of ['verbs', 'shortNames', 'categories']) {
          const list = rest[name] ?? [];
          if (!Array.isArray(list) || list.some((item) => typeof item !== 'string'))
            found.push(`${place} has ${name} that are no texts`);
        }
        if (rest['singularResource'] !== undefined && typeof rest['singularResource'] !== 'string')
          found.push(`${place} has a singular that is no text`);
      }
  return found;
}
