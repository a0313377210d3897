/** Impersonation headers, as many as fit into a request, from somebody without any right. */
import { type Attack, codesText } from '../attack.ts';

/** Milliseconds of CPU that one request with a head of half a megabyte may cost. */
const costMaxMs = 500;

export const attack: Attack = {
  name: 'impersonation headers',
  run: async (server) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    for (const count of [900, 1_900, 20_000])
      for (const rank of ['anonymous', 'nobody'] as const)
        for (const user of [[], ['impersonate-user', 'admin']]) {
          const extra = Array.from({ length: count }, (_, i) => [`impersonate-extra-k${i}`, 'v']).flat();
          const before = server.cpuMs;
          const { status } = await server.ask(rank, '/api/v1/namespaces', { headers: [...user, ...extra] });
          const cost = server.cpuMs - before;
          codes.push(status);
          if (![400, 403, 431].includes(status)) gotIn.push(`${count} headers of ${rank}: ${status}`);
          if (cost > costMaxMs) gotIn.push(`${count} headers of ${rank} cost ${Math.round(cost)} ms`);
        }
    return { gotIn, says: codesText(codes) };
  },
};
