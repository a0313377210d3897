/** Proves that a patch error has all that its Status needs. */
import { expect, test } from 'vitest';
import { invalidPatch, unprocessable } from './errors.ts';
import { cannotApply, invalidValue, PatchError, undecodable } from './patch-error.ts';

test('a value of the wrong shape reads like the same error from the catalogue', () => {
  const error = invalidValue('map[data:x "y"]', 'cannot restore map from string');
  const { status } = invalidPatch('map[data:x "y"]', 'cannot restore map from string');
  expect(error).toBeInstanceOf(PatchError);
  expect([error.code, error.kind]).toEqual([422, 'invalid']);
  expect(error.message).toBe(
    ' "" is invalid: patch: Invalid value: "map[data:x \\"y\\"]": cannot restore map from string',
  );
  expect(error.message).toBe(status.message);
  expect(error.causes).toEqual(status.details?.causes);
});

test('an operation that does not apply reads like the same error from the catalogue', () => {
  const { code, message, kind, causes } = cannotApply();
  const { status } = unprocessable();
  expect([code, message]).toEqual([status.code, status.message]);
  expect([kind, causes]).toEqual(['operation', []]);
});

test('an undecodable body is a bad request', () => {
  const error = undecodable('Invalid JSON Patch');
  expect([error.name, error.code, error.kind, error.message]).toEqual([
    'PatchError',
    400,
    'decode',
    'Invalid JSON Patch',
  ]);
});
