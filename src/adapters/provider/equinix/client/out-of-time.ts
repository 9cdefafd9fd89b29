const OUT_OF_TIME = Symbol('the operation is out of time');

/** Ends an operation because its budget of time is spent, and not because somebody asked for it. */
export const abortOutOfTime = (operation: AbortController): void => operation.abort(OUT_OF_TIME);
export const isOutOfTime = ({ reason }: AbortSignal): boolean => reason === OUT_OF_TIME;
