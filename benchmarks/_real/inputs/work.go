// SPDX-License-Identifier: BSD-3-Clause
// work trees|norm|maps: short-lived trees, a numeric loop on all processors, or tables of strings.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
)

type node struct{ left, right *node }

func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{grow(depth - 1), grow(depth - 1)}
}

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

func trees() int {
	kept := grow(17)
	counts := make([]int, 40)
	var group sync.WaitGroup
	for i := range counts {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			counts[i] = grow(14).count()
		}(i)
	}
	group.Wait()
	total := kept.count()
	for _, c := range counts {
		total += c
	}
	return total
}

func norm() float64 {
	const n = 1800
	u := make([]float64, n)
	for i := range u {
		u[i] = 1
	}
	v := make([]float64, n)
	step := func(out, in []float64) {
		workers := runtime.GOMAXPROCS(0)
		var group sync.WaitGroup
		for w := 0; w < workers; w++ {
			group.Add(1)
			go func(w int) {
				defer group.Done()
				for i := w * n / workers; i < (w+1)*n/workers; i++ {
					sum := 0.0
					for j := range in {
						sum += in[j] / float64((i+j)*(i+j+1)/2+i+1)
					}
					out[i] = sum
				}
			}(w)
		}
		group.Wait()
	}
	for k := 0; k < 50; k++ {
		step(v, u)
		step(u, v)
		size := 0.0
		for _, x := range u {
			size = math.Max(size, x)
		}
		for i := range u {
			u[i] /= size
		}
	}
	return u[0]
}

func maps() int {
	total := 0
	for k := 0; k < 6; k++ {
		table := map[string][]int{}
		for i := 0; i < 150000; i++ {
			key := "key-" + strconv.Itoa(i*7919%30011)
			table[key] = append(table[key], i)
		}
		total += len(table)
	}
	return total
}

func main() {
	switch os.Args[1] {
	case "trees":
		fmt.Println(trees())
	case "norm":
		fmt.Printf("%.6f\n", norm())
	default:
		fmt.Println(maps())
	}
}
