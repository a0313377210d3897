/**
 * kubectl with a cluster of two simulated nodes: common workflows, command by command, with their output. The
 * commands are in `scripts/`.
 */
import { describe, test } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { withKubectl } from './kubectl.ts';
import { runScript } from './script.ts';

const scripts = [
  'making',
  'changing',
  'rollouts',
  'reading',
  'deleting',
  'roles',
  'custom-kinds',
  'describing',
  'sets',
  'nodes',
  'asking',
  'cron-jobs',
  'budgets',
  'platform',
];

/** A script has some forty commands; each may be slow on a busy machine. */
const scriptMaxMs = 300_000;

/** So many scripts run at once: some commands wait for seconds, and more at once would be too slow for those. */
const lanes = 2;

for (let lane = 0; lane < lanes; lane++)
  describeWith('kubectl').concurrent(`lane ${lane + 1}`, () => {
    for (const name of scripts.filter((_, i) => i % lanes === lane))
      describe.sequential(`kubectl, ${name}`, () => {
        // Old versions of kubectl print managed fields with every object.
        const kubectl = withKubectl({ simulatedNodes: 2, managedFields: 'applied' });

        test(`${name}.txt prints what it says`, { timeout: scriptMaxMs }, () => runScript(name, kubectl()));
      });
  });
