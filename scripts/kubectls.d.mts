export declare function findKubectls(tell?: (message: string) => void): Record<string, string>;
export declare function newestKubectl(
  tell: (message: string) => void,
): { readonly version: string; readonly program: string } | undefined;
