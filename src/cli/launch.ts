/** The entry point of `wherry`. */
import { loadBundle } from '../program/bundle-load.ts';

/** The bundle's file, whose name contains a hash of its contents; defined by the build. */
declare const bundleFile: string;

interface Bundle {
  runCommand(): Promise<void>;
}

const bundle = loadBundle<Bundle>(__dirname, bundleFile, 'wherry', require);
void bundle.exports.runCommand().then(() => bundle.started());
