/** Objects with as many entries in their managed fields as fit into a request. */
import { type Attack, codesText } from '../attack.ts';

/** Milliseconds of CPU that one of them may cost. */
const costMaxMs = 1_500;
const path = '/api/v1/namespaces/default/configmaps';

export const attack: Attack = {
  name: 'managed fields',
  run: async (server) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    for (const count of [190, 2_000, 15_000]) {
      const managedFields = Array.from({ length: count }, (_, i) => ({
        manager: `m${i}`,
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { [`f:k${i}`]: {} } },
      }));
      const before = server.cpuMs;
      const body = { metadata: { name: `managed-${count}`, managedFields }, data: { a: 'b' } };
      const { status } = await server.ask('neighbour', path, { method: 'POST', body });
      const cost = server.cpuMs - before;
      codes.push(status);
      if (cost > costMaxMs) gotIn.push(`${count} entries cost ${Math.round(cost)} ms`);
      if (count > 1_000 && status !== 422) gotIn.push(`${count} entries: ${status}`);
    }
    await server.remove(`${path}/managed-190`);
    return { gotIn, says: codesText(codes) };
  },
};
