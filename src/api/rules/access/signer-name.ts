/** Names of signers: `example.com/signer-name`, a domain and a path. */
import { invalid, required, tooLong } from '../../errors/field-error.ts';
import { isLabel1123, isSubdomain1123 } from '../../values/names.ts';
import type { Findings } from '../shared/findings.ts';

const domainBytesMax = 253;
/** A name of an object and its namespace fit into the path. */
const pathBytesMax = domainBytesMax + 63 + 1;
const nameBytesMax = domainBytesMax + pathBytesMax + 1;

export function* signerNameErrors(field: string, name: string | undefined): Findings {
  if (!name) return yield required(field);
  const [domain = '', path = '', ...rest] = name.split('/');
  if (rest.length || !name.includes('/'))
    return yield invalid(
      field,
      name,
      "must be a fully qualified domain and path of the form 'example.com/signer-name'",
    );
  if (Buffer.byteLength(domain) > domainBytesMax) yield tooLong(field, domainBytesMax);
  const labels = domain.split('.');
  yield* firstProblem(field, domain, labels, isLabel1123);
  if (labels.length < 2)
    yield invalid(field, domain, 'should be a domain with at least two segments separated by dots');
  yield* firstProblem(field, path, path.split('.'), isSubdomain1123);
  if (Buffer.byteLength(name) > nameBytesMax) yield tooLong(field, nameBytesMax);
}

/** The problems of the first label that has any. */
function* firstProblem(
  field: string,
  value: string,
  labels: readonly string[],
  problemsOf: (label: string) => string[],
): Findings {
  for (const label of labels) {
    const problems = problemsOf(label);
    for (const problem of problems)
      yield invalid(field, value, `validating label ${JSON.stringify(label)}: ${problem}`);
    if (problems.length) return;
  }
}
