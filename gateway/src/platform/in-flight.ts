/** How much is being served at the moment, by all doors. A stop waits for all of it. */
export interface InFlight {
  calls: number;
  /** Notes that one more is running; returns how to say, once or more often, that it is not any more. */
  readonly begin: () => () => void;
}

export function createInFlight(): InFlight {
  const inFlight: InFlight = {
    calls: 0,
    begin: () => {
      let running = true;
      inFlight.calls++;
      return () => {
        if (running) inFlight.calls--;
        running = false;
      };
    },
  };
  return inFlight;
}
