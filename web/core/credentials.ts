/**
 * The user's token for the secure door. It is kept for this tab only: pages opened from here, such as those of proxied
 * services, get a session of their own and cannot read it.
 */
import { signal } from '@preact/signals';
import { prefix } from './prefix.ts';

/** The storage key, by prefix: requests to another server at the same address must not use this one's token. */
const place = `wherry.token${prefix}`;

export const token = signal<string | undefined>(sessionStorage.getItem(place) ?? undefined);

/** Set when the server does not accept the credentials: the dashboard then asks for a token. */
export const signInReason = signal<string | undefined>(undefined);

export function signIn(text: string): void {
  sessionStorage.setItem(place, text);
  token.value = text;
  signInReason.value = undefined;
}

export function signOut(): void {
  sessionStorage.removeItem(place);
  token.value = undefined;
  signInReason.value = 'You have signed out.';
}
