/**
 * What an engine can do, by its version: engines do not say so, and silently ignore fields of a request that they do not
 * know.
 */

export interface CriFeatures {
  /** Mounts the files of an image as a volume. */
  readonly imageMounts: boolean;
  /** Mounts a folder of such files. */
  readonly imageSubPaths: boolean;
}

/** From which version an engine has a feature. */
const since: Readonly<Record<keyof CriFeatures, Partial<Record<string, readonly [number, number]>>>> = {
  imageMounts: { containerd: [2, 1], 'cri-o': [1, 31] },
  imageSubPaths: { containerd: [2, 2], 'cri-o': [1, 33] },
};

export function criFeatures(name: string, version: string): CriFeatures {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const has = (feature: keyof CriFeatures): boolean => {
    const [first, second] = since[feature][name] ?? [Number.POSITIVE_INFINITY, 0];
    return Number(major) > first || (Number(major) === first && Number(minor) >= second);
  };
  return { imageMounts: has('imageMounts'), imageSubPaths: has('imageSubPaths') };
}
