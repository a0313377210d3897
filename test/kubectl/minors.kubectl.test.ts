/** Proves that kubectl works with clusters of minors of its time: the one before it, its own and the next. */
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { kubectlOnMinor } from './minor.suite.ts';
import { kubectls } from './programs.ts';

const firstMinor = 22;
const lastMinor = 36;

describeWith('kubectl')('kubectl', () => {
  const own = Math.max(Number(kubectls[0]?.version.split('.')[1] ?? lastMinor), firstMinor);
  const minors = isRelease ? [own - 1, own, own + 1] : [own];
  for (const minor of minors.filter((one) => one >= firstMinor && one <= lastMinor))
    kubectlOnMinor(`1.${minor}`);
});
