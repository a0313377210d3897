/** Names that look like a name and a group in one, asked about so that the answer might be remembered for somebody else. */
import type { Attack } from '../attack.ts';

const reviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

export const attack: Attack = {
  name: 'names with line feeds',
  run: async (server) => {
    const gotIn: string[] = [];
    const attributes = { namespace: 'default', verb: 'list', resource: 'secrets' };
    const review = async (user: string, groups: string[]): Promise<boolean> => {
      const body = { spec: { user, groups, resourceAttributes: attributes } };
      const { text } = await server.askLocally(reviews, { method: 'POST', body });
      return JSON.parse(text).status.allowed;
    };
    let tries = 0;
    for (const separator of ['\n', '\0', '\u0001', ' ', '/', '|', ':'])
      for (const first of ['made up', 'real']) {
        // Groups that were not asked about before: what is remembered of earlier tries must not help.
        const [group, other] = [`first-${tries}`, `second-${tries}`];
        tries++;
        const madeUp = (): Promise<boolean> =>
          review(`${server.nameOf('neighbour')}${separator}${group}`, [other]);
        const real = (): Promise<boolean> => review(server.nameOf('neighbour'), [group, other]);
        const [one, two] = first === 'real' ? [await real(), await madeUp()] : [await madeUp(), await real()];
        const [isReal, isMadeUp] = first === 'real' ? [one, two] : [two, one];
        if (!isReal) gotIn.push(`the neighbour lost its rights to ${JSON.stringify(separator)}`);
        if (isMadeUp) gotIn.push(`a made up name got rights by ${JSON.stringify(separator)}`);
      }
    return { gotIn, says: '14 reviews' };
  },
};
