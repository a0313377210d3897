/**
 * The features of an engine, by its version: engines do not report them, and silently ignore request fields that they
 * do not know.
 */

export interface CriFeatures {
  /** Whether it can mount the files of an image as a volume. */
  readonly imageMounts: boolean;
  /** Whether it can mount a folder of an image. */
  readonly imageSubPaths: boolean;
}

/** The version since which an engine has a feature. */
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
