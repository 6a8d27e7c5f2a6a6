// A plot that is drawn anew while Plotly still finds its margins may keep Plotly busy without end: so
// what is to be drawn waits until the plot is done, and only the last of it is drawn.

const turns = {};

async function drawPlot(id, ...picture) {
  const turn = (turns[id] ??= { isBusy: false, waiting: null });
  turn.waiting = picture;
  if (turn.isBusy) return;
  turn.isBusy = true;
  try {
    while (turn.waiting) {
      const next = turn.waiting;
      turn.waiting = null;
      await Plotly.react(id, ...next);
    }
  } finally {
    turn.isBusy = false;
  }
}
