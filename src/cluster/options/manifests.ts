/** Objects that a cluster applies when it starts. */
import { optionFor } from './option.ts';
import { on, repeated } from './values.ts';

const option = optionFor('up', 'serve');
const path = (shown: string) =>
  repeated(shown, (given, flag, refuse) => given || refuse(`${flag} must name a file or a folder`));

export const manifestOptions = {
  /**
   * Files and folders of objects, in YAML or JSON, that are applied when the cluster starts; `nodesReady` waits for them.
   * Default: none.
   */
  manifests: option<readonly string[]>({
    flag: 'manifests',
    value: path('PATH'),
    text: 'a file or folder of objects that are applied at the start; may be repeated',
  }),
  /** Folders that `kubectl kustomize` makes objects of, which are applied in the same way. Default: none. */
  kustomizations: option<readonly string[]>({
    flag: 'kustomization',
    value: path('FOLDER'),
    text: 'a folder that kubectl kustomize makes such objects of; may be repeated',
  }),
  /** Apply them again when their files change. Default false. */
  watchManifests: option<boolean>({
    flag: 'watch-manifests',
    value: on,
    text: 'apply manifests and kustomizations again when their files change',
  }),
};
