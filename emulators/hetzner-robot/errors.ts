import { ApiRefusal } from '../kit/api.ts';

export const errorBody = (
  status: number,
  code: string,
  message: string,
  more: object = {},
): object => ({ error: { status, code, message, ...more } });
/** A refusal in the API's words. @param more fields besides status, code and message */
export const refusal = (status: number, code: string, message: string, more?: object) =>
  new ApiRefusal(status, errorBody(status, code, message, more));
export const invalidInput = (wrong: {
  readonly missing?: readonly string[];
  readonly invalid?: readonly string[];
}) =>
  refusal(400, 'INVALID_INPUT', 'invalid input', {
    missing: wrong.missing ?? null,
    invalid: wrong.invalid ?? null,
  });
export const serverNotFound = () => refusal(404, 'SERVER_NOT_FOUND', 'Server not found');
export const notFound = (what: string) => refusal(404, 'NOT_FOUND', `${what} not found`);
