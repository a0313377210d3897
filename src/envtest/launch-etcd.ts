/** The entry point of the `etcd` that `wherry envtest` writes: `node SCRIPT PARENT FLAG…`. It loads next to nothing. */
import { runEtcd } from './etcd.ts';

const [, , parent, ...args] = process.argv;
void runEtcd(args, Number(parent));
