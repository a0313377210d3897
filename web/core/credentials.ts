/**
 * The token of the user, for the secure door. It is kept for this tab alone: pages that are opened from here, such as
 * those of proxied services, get a session of their own and cannot read it.
 */
import { signal } from '@preact/signals';
import { prefix } from './prefix.ts';

/** By prefix: what another server at the same address is asked for must not hold this one's token. */
const place = `wherry.token${prefix}`;

export const token = signal<string | undefined>(sessionStorage.getItem(place) ?? undefined);

/** Set when the server knows nobody by what was sent: the dashboard then asks for a token. */
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
