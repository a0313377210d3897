export declare function findKubectls(tell?: (message: string) => void): Promise<Record<string, string>>;
export declare function newestKubectl(
  tell: (message: string) => void,
): Promise<{ readonly version: string; readonly program: string } | undefined>;
